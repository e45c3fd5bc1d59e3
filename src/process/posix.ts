import { existsSync } from "node:fs";
import { openLibc } from "../base/libc.ts";
import { hasProcess, sendSignal } from "./signals.ts";
import type { System } from "./platform.ts";

/** What Linux and macOS do alike. */
export const posix = {
  signalGroup: (leader, signal) => void sendSignal(-leader, signal),
  isGroupAlive: (leader) => hasProcess(-leader),
  findShell: () => (existsSync("/bin/bash") ? "/bin/bash" : (Bun.which("bash") ?? "/bin/sh")),
  hasReaper: true,
} satisfies Partial<System>;

const POLLIN = 1;

export const POLL = { args: ["ptr", "u64", "i32"], returns: "i32" } as const;

/** What `open` makes of the C library, opened when first asked for; without it children are wired in another way. */
export function lazily<Library>(open: (name: string) => Library): () => Library | undefined {
  let library: Library | undefined;
  let isTried = false;
  return () => {
    if (!isTried) library = openLibc(open);
    isTried = true;
    return library;
  };
}

/** Asks poll(2) for one descriptor. */
export function pollOne(poll: (fds: ReturnType<typeof import("bun:ffi").ptr>, count: number, ms: number) => number): (fd: number) => boolean {
  const { ptr } = require("bun:ffi") as typeof import("bun:ffi");
  const asked = new Int32Array([0, POLLIN]);
  const answer = new Int16Array(asked.buffer, 6, 1);
  return (fd) => {
    asked[0] = fd;
    return poll(ptr(asked), 1, 0) > 0 && ((answer[0] ?? 0) & POLLIN) !== 0;
  };
}
