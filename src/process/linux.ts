import { readFileSync, readdirSync } from "node:fs";

/**
 * Processes whose environment holds the mark, zombies left out: what left its group and session is found
 * so, unless it has cleared its environment. Elsewhere than on Linux it finds nothing.
 * `value`: the whole value or, with `isPrefix`, its beginning. `outside`: a group to leave out.
 */
export function findMarked(o: { name: string; value: string; isPrefix?: boolean; outside?: number }): number[] {
  if (process.platform !== "linux") return [];
  const mark = Buffer.from(`${o.name}=${o.value}${o.isPrefix ? "" : "\0"}`);
  const isMarked = (pid: number) => contents(`/proc/${pid}/environ`)?.includes(mark) ?? false;
  return processIds().filter((pid) => isMarked(pid) && (o.outside === undefined || status(pid)?.group !== o.outside));
}

/** Whether all that is left of a group are zombies, which only their parent can remove. Linux alone can tell. */
export function isGroupOfZombies(leader: number): boolean {
  if (process.platform !== "linux") return false;
  let members = 0;
  for (const pid of processIds()) {
    const found = status(pid);
    if (found?.group !== leader) continue;
    if (!found.isZombie) return false;
    members += 1;
  }
  return members > 0;
}

function status(pid: number): { isZombie: boolean; group: number } | undefined {
  const stat = contents(`/proc/${pid}/stat`)?.toString("latin1");
  if (stat === undefined) return undefined;
  // "pid (any name) state ppid pgrp …"
  const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { isZombie: state === "Z" || state === "X", group: Number(group) };
}

function processIds(): number[] {
  const ids = readdirSync("/proc").filter((entry) => entry >= "1" && entry < ":").map(Number);
  return ids.filter((pid) => pid !== process.pid);
}

function contents(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    // It has just ended, or belongs to somebody else.
    return undefined;
  }
}
