import { closeSync } from "node:fs";

/** Both ends of a pipe that no child inherits unless it is handed over. */
export interface Pipe {
  readFd: number;
  writeFd: number;
}

interface LibC {
  open(fds: Int32Array): boolean;
  poll(fd: number): number;
}

const NAMES: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  linux: ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1", "libc.so"],
  darwin: ["libSystem.B.dylib", "/usr/lib/libSystem.B.dylib"],
};
const O_CLOEXEC = 0o2000000;
const FIOCLEX = 0x20006601;
const POLLIN = 1;

let loaded: LibC | undefined | null = null;

/** Undefined where bun:ffi or the C library cannot be had; loaded by the first child, not at start. */
function libc(): LibC | undefined {
  if (loaded !== null) return loaded;
  loaded = undefined;
  for (const name of NAMES[process.platform] ?? []) {
    try {
      loaded = load(name);
      break;
    } catch {
      // Not this name on this system; without any of them children are wired in another way.
    }
  }
  return loaded;
}

function load(name: string): LibC {
  const { dlopen, ptr } = require("bun:ffi") as typeof import("bun:ffi");
  const poll = { args: ["ptr", "u64", "i32"], returns: "i32" } as const;
  const asked = new Int32Array(2);
  const revents = new Int16Array(asked.buffer, 6, 1);
  const pollOne = (call: (fds: ReturnType<typeof ptr>, count: number, ms: number) => number) => (fd: number) => {
    asked[0] = fd;
    asked[1] = POLLIN;
    return call(ptr(asked), 1, 0) > 0 ? (revents[0] ?? 0) : 0;
  };
  if (process.platform === "linux") {
    const { symbols } = dlopen(name, { pipe2: { args: ["ptr", "i32"], returns: "i32" }, poll });
    return { open: (fds) => symbols.pipe2(ptr(fds), O_CLOEXEC) === 0, poll: pollOne(symbols.poll) };
  }
  // macOS has no pipe2. ioctl is variadic, but FIOCLEX takes nothing after the request.
  const { symbols } = dlopen(name, {
    pipe: { args: ["ptr"], returns: "i32" },
    ioctl: { args: ["i32", "u64"], returns: "i32" },
    poll,
  });
  return {
    open(fds) {
      if (symbols.pipe(ptr(fds)) !== 0) return false;
      for (const fd of fds) symbols.ioctl(fd, FIOCLEX);
      return true;
    },
    poll: pollOne(symbols.poll),
  };
}

/**
 * Opens a pipe, or gives undefined where that is not possible (Windows, no C library, no free
 * descriptor). Both ends are the caller's to close.
 */
export function openPipe(): Pipe | undefined {
  const fds = new Int32Array(2);
  if (!libc()?.open(fds)) return undefined;
  const [readFd, writeFd] = fds as unknown as [number, number];
  return { readFd, writeFd };
}

/** Whether bytes wait in the pipe right now. False also where that cannot be told. */
export function hasBytes(fd: number): boolean {
  return ((libc()?.poll(fd) ?? 0) & POLLIN) !== 0;
}

/** What a child has written, a piece at a time; what nobody reads stays in the pipe and holds the child up. */
export interface ByteSource {
  /** The next piece, or undefined at the end. One read at a time. */
  read(): Promise<Uint8Array | undefined>;
  /** Whether bytes wait in the pipe right now; undefined where that cannot be told. */
  hasMore(): boolean | undefined;
  /** Gives the pipe up. A pending read ends. Safe to repeat. */
  close(): Promise<void>;
}

/** Reads the read end of a pipe and owns it. */
export function readPipe(fd: number): ByteSource {
  const reader = Bun.file(fd).stream().getReader();
  let isOpen = true;
  const release = () => {
    if (!isOpen) return;
    isOpen = false;
    // Bun leaves the descriptor of Bun.file(fd) open.
    closeSync(fd);
  };
  return {
    async read() {
      if (!isOpen) return undefined;
      const { done, value } = await reader.read();
      if (!done) return value;
      release();
      return undefined;
    },
    hasMore: () => isOpen && hasBytes(fd),
    async close() {
      if (!isOpen) return;
      await reader.cancel();
      release();
    },
  };
}

/** Reads several streams as one, in the order in which their pieces come. */
export function readStreams(streams: readonly ReadableStream<Uint8Array>[]): ByteSource {
  const readers = streams.map((stream) => stream.getReader());
  type Arrival = { from: number; piece: Uint8Array | undefined };
  const pending = new Map<number, Promise<Arrival>>();
  const ask = (from: number) =>
    pending.set(from, readers[from]!.read().then(({ done, value }) => ({ from, piece: done ? undefined : value })));
  readers.forEach((_, from) => ask(from));
  return {
    async read() {
      while (pending.size > 0) {
        const { from, piece } = await Promise.race(pending.values());
        pending.delete(from);
        if (piece === undefined) continue;
        ask(from);
        return piece;
      }
      return undefined;
    },
    hasMore: () => undefined,
    async close() {
      await Promise.all(readers.map((reader) => reader.cancel()));
    },
  };
}
