import fs from "../base/lazy-fs.ts";
import path from "node:path";
import { Refusal } from "../base/refusal.ts";
import { SessionWriteError } from "./file.ts";
import { lockFile, type Lock } from "./lock.ts";

const PATIENCE_MS = 2000;

/**
 * Makes a session of an id that the user chose, where no other of that id stands in the folder; of two processes that
 * do it at once, one succeeds. Throws Refusal `invalid`, naming the file that is there.
 */
export function withNewId(dir: string, id: string, make: () => void): void {
  try {
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw SessionWriteError.of(path.join(dir, id), error);
  }
  const lock = lockFolder(dir);
  try {
    const taken = fs.readdirSync(dir).filter((name) => name.endsWith(`_${id}.jsonl`)).map((name) => path.join(dir, name)).find(hasBegun);
    if (taken !== undefined) throw new Refusal("invalid", `A session with the id ${id} exists already: ${taken}`);
    make();
  } finally {
    lock.release();
  }
}

/** A kill in the moment of making it leaves a file without a header. */
export function hasBegun(file: string): boolean {
  return (fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** Others hold it for the moment that a file takes to make. */
function lockFolder(dir: string): Lock {
  for (const end = Date.now() + PATIENCE_MS; ; Bun.sleepSync(2)) {
    try {
      return lockFile(dir);
    } catch (error) {
      if (!(error instanceof Refusal) || Date.now() > end) throw error;
    }
  }
}
