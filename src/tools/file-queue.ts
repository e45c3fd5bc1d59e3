import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** The last work that waits for each file. */
const lasts = new Map<string, Promise<unknown>>();

/**
 * Runs work that changes a file after all work on the same file that was handed in before, by whatever name
 * it was called: tool calls run in parallel, and two edits of one file must not undo each other.
 */
export async function inTurn<T>(path: string, work: () => Promise<T>): Promise<T> {
  const key = realName(path);
  const before = lasts.get(key) ?? Promise.resolve();
  const mine = before.then(work, work);
  lasts.set(key, mine);
  try {
    return await mine;
  } finally {
    if (lasts.get(key) === mine) lasts.delete(key);
  }
}

/** With symbolic links resolved as far as the path exists. Synchronous, since the order of the calls counts. */
function realName(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // Not there yet: its name is that of its folder and its own.
    return dirname(path) === path ? path : join(realName(dirname(path)), basename(path));
  }
}
