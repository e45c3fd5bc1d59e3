import fs from "../base/lazy-fs.ts";
import { openLibc } from "../base/libc.ts";
import type { Claim } from "./claim.ts";

const LOCK_EX = 2;
const LOCK_NB = 4;

/** errno of a lock that somebody holds: EAGAIN, which macOS numbers otherwise. */
const HELD = process.platform === "linux" ? 11 : 35;

interface LibC {
  flock(fd: number, operation: number): number;
  errno(): number;
}
/** Null where it is not to be had. */
let libc: LibC | null | undefined;

/**
 * Linux and macOS: flock(2) on a descriptor of its own. It belongs to that descriptor and not to a name or a
 * number, so there is nothing stale to clean up after a kill, and nothing that a reused process id could confuse;
 * children do not get the descriptor.
 */
export function claimByFlock(file: string): Claim {
  if (libc === undefined) libc = openLibc(functionsOf) ?? null;
  if (libc === null) return "impossible";
  const fd = openAny(file);
  if (libc.flock(fd, LOCK_EX | LOCK_NB) === 0) return { release: () => fs.closeSync(fd) };
  const errno = libc.errno();
  const { ino } = fs.fstatSync(fd);
  fs.closeSync(fd);
  // What else it says (ENOLCK, ENOTSUP, …) is about the file system. Zero: the runtime has overwritten the word.
  return errno === HELD || errno === 0 ? { owner: ownerOf(file, ino) } : "impossible";
}

/** Some network file systems lock exclusively only what is opened for writing; folders and read-only files cannot be. */
function openAny(file: string): number {
  try {
    return fs.openSync(file, fs.constants.O_RDWR);
  } catch {
    return fs.openSync(file, fs.constants.O_RDONLY);
  }
}

/** flock is not among Node's calls. */
function functionsOf(name: string): LibC {
  const { dlopen, read } = require("bun:ffi") as typeof import("bun:ffi");
  const errnoName = process.platform === "darwin" ? "__error" : "__errno_location";
  const { symbols } = dlopen(name, { flock: { args: ["i32", "i32"], returns: "i32" }, [errnoName]: { args: [], returns: "ptr" } });
  const call = symbols as unknown as { flock(fd: number, operation: number): number } & Record<string, () => number>;
  return { flock: (fd, operation) => call.flock(fd, operation), errno: () => read.i32(call[errnoName]!() as never, 0) };
}

/** The process that holds the lock, for the error's words only. */
function ownerOf(file: string, inode: number): number | undefined {
  try {
    if (process.platform === "linux") {
      for (const line of fs.readFileSync("/proc/locks", "utf8").split("\n")) {
        const [, pid, lockedInode] = /FLOCK\s+ADVISORY\s+WRITE\s+(\d+)\s+\w+:\w+:(\d+)/.exec(line) ?? [];
        if (Number(lockedInode) === inode && Number(pid) > 0) return Number(pid);
      }
      return undefined;
    }
    const { stdout } = Bun.spawnSync(["lsof", "-t", "--", file], { stdin: "ignore", stderr: "ignore" });
    const pids = stdout.toString().split("\n").map(Number);
    return pids.find((pid) => pid > 0 && pid !== process.pid);
  } catch {
    return undefined; // The lock holds, whoever has it.
  }
}
