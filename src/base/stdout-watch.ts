/**
 * Looks at file descriptor 1 through the system's own calls, which Bun does not offer: whether its reader is
 * gone while nothing is written, and how much lies in the pipe unread. Loaded some time after the start,
 * since the first use of bun:ffi costs a little.
 */
import { dlopen, FFIType, ptr } from "bun:ffi";
import { openLibc } from "./libc.ts";

const POLLERR = 8;
const POLLHUP = 16;

/** How many bytes a pipe (FIONREAD) or a socket (SIOCOUTQ, the same number as TIOCOUTQ) holds unread. */
const UNREAD = process.platform === "darwin" ? [0x4004667f, 0x40047473] : [0x541b, 0x5411];

export interface StdoutWatch {
  /** The reader has closed its end. */
  isGone(): boolean;
  /** Bytes written and not yet read; undefined where that cannot be told (a file). */
  unread(): number | undefined;
}

/** Undefined on a system where the calls are not to be had. */
export function watchStdout(): StdoutWatch | undefined {
  const lib = openLibc((name) => dlopen(name, {
    poll: { args: [FFIType.ptr, FFIType.u64, FFIType.i32], returns: FFIType.i32 },
    ioctl: { args: [FFIType.i32, FFIType.u64, FFIType.ptr], returns: FFIType.i32 },
  }).symbols);
  if (!lib) return undefined;
  const poll = new Int16Array(4);
  const descriptor = new Int32Array(poll.buffer);
  const count = new Int32Array(1);
  return {
    isGone() {
      descriptor[0] = 1;
      // No events asked for: only errors and hang-ups are told.
      poll[2] = 0;
      poll[3] = 0;
      return lib.poll(ptr(poll), 1, 0) > 0 && (poll[3] & (POLLERR | POLLHUP)) !== 0;
    },
    unread() {
      for (const request of UNREAD) if (lib.ioctl(1, request, ptr(count)) === 0) return count[0];
      return undefined;
    },
  };
}
