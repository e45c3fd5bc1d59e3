import { readFileSync } from "node:fs";

/** Whether the process runs; one that has ended and is not buried yet does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== "linux") return true;
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    // It ended between the two looks.
    return false;
  }
}
