import { lazily, POLL, pollOne, posix } from "./posix.ts";
import type { System } from "./platform.ts";

const FIOCLEX = 0x20006601;

const libc = lazily((name) => {
  const { dlopen, ptr } = require("bun:ffi") as typeof import("bun:ffi");
  const { symbols } = dlopen(name, {
    pipe: { args: ["ptr"], returns: "i32" },
    ioctl: { args: ["i32", "u64"], returns: "i32" },
    poll: POLL,
  });
  return {
    pipe(fds: Int32Array) {
      if (symbols.pipe(ptr(fds)) !== 0) return false;
      // There is no pipe2. ioctl is variadic, but this request has no argument.
      for (const fd of fds) symbols.ioctl(fd, FIOCLEX);
      return true;
    },
    hasBytes: pollOne(symbols.poll),
  };
});

export const onMacos: System = {
  ...posix,
  openPipe() {
    const fds = new Int32Array(2);
    return libc()?.pipe(fds) ? { readFd: fds[0]!, writeFd: fds[1]! } : undefined;
  },
  hasBytes: (fd) => libc()?.hasBytes(fd) ?? false,
  isGroupOfZombies: () => false,
  // Nothing tells the environment of a process reliably: one that makes its own session is only found by what it holds.
  findMarked: () => [],
};
