import { readFileSync, readdirSync } from "node:fs";
import { lazily, POLL, pollOne, posix } from "./posix.ts";
import type { System } from "./system.ts";

const O_CLOEXEC = 0o2000000;

const libc = lazily(["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"], (name) => {
  const { dlopen, ptr } = require("bun:ffi") as typeof import("bun:ffi");
  const { symbols } = dlopen(name, { pipe2: { args: ["ptr", "i32"], returns: "i32" }, poll: POLL });
  return { pipe: (fds: Int32Array) => symbols.pipe2(ptr(fds), O_CLOEXEC) === 0, hasBytes: pollOne(symbols.poll) };
});

export const onLinux: System = {
  ...posix,
  openPipe() {
    const fds = new Int32Array(2);
    return libc()?.pipe(fds) ? { readFd: fds[0]!, writeFd: fds[1]! } : undefined;
  },
  hasBytes: (fd) => libc()?.hasBytes(fd) ?? false,
  isGroupOfZombies(leader) {
    const members = processIds().map(status).filter((found) => found?.group === leader);
    return members.length > 0 && members.every((member) => member?.isZombie);
  },
  findMarked({ name, value, isPrefix, outside }) {
    const words = Buffer.from(`${name}=${value}${isPrefix ? "" : "\0"}`);
    const isMarked = (pid: number) => contents(`/proc/${pid}/environ`)?.includes(words) ?? false;
    return processIds().filter((pid) => isMarked(pid) && (outside === undefined || status(pid)?.group !== outside));
  },
};

function status(pid: number): { isZombie: boolean; group: number } | undefined {
  const stat = contents(`/proc/${pid}/stat`)?.toString("latin1");
  if (stat === undefined) return undefined;
  // "pid (any name) state ppid pgrp …"
  const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { isZombie: state === "Z" || state === "X", group: Number(group) };
}

function processIds(): number[] {
  const entries = readdirSync("/proc").filter((entry) => entry >= "1" && entry < ":");
  return entries.map(Number).filter((pid) => pid !== process.pid);
}

function contents(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    // It has just ended, or belongs to somebody else.
    return undefined;
  }
}
