import { readFileSync, readdirSync } from "node:fs";
import { lazily, POLL, pollOne, posix } from "./posix.ts";
import { MARK, type System } from "./platform.ts";

const O_CLOEXEC = 0o2000000;

const libc = lazily((name) => {
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
    const members = statuses().filter(({ group }) => group === leader);
    return members.length > 0 && members.every(({ isZombie }) => isZombie);
  },
  findMarked({ name, value, isPrefix, outside }) {
    const isWanted = (found: string) => (isPrefix ? found.startsWith(value) : found === value);
    const marked = marks().filter((found) => found.name === name && isWanted(found.value)).map(({ pid }) => pid);
    return outside === undefined ? marked : marked.filter((pid) => status(pid)?.group !== outside);
  },
};

/** When many children end together each asks for the same, and looking at all processes takes its time. */
function briefly<T>(look: () => T): () => T {
  let found: T;
  let until = -Infinity;
  return () => {
    const from = performance.now();
    if (from > until) {
      found = look();
      const now = performance.now();
      until = now + 2 * (now - from);
    }
    return found;
  };
}

const statuses = briefly(() => processIds().flatMap((pid) => status(pid) ?? []));

/** The marks in the environments of all processes. A zombie has none any more. */
const marks = briefly(() => processIds().flatMap((pid) => {
  const environment = contents(`/proc/${pid}/environ`);
  const at = environment?.indexOf(MARK) ?? -1;
  if (!environment || at < 0) return [];
  // One environment may hold the marks of several, when one rpi has started another.
  return environment.toString("latin1", at).split("\0").filter((entry) => entry.startsWith(MARK)).map((entry) => {
    const [name, value] = entry.split("=", 2) as [string, string];
    return { pid, name, value };
  });
}));

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
