import fs from "node:fs";
import { wordsOf } from "../base/text.ts";
import { loopsFile } from "./loops-file.ts";
import { type Loop, loopOf, taskOf } from "./loop-task.ts";

const VERSION = 1;

/** The durable loops of a session, in a file beside the session's. */
export class LoopStore {
  readonly file: string;

  /** `keepSession` makes the session's file where it is not there yet: without it nothing could be resumed. */
  constructor(sessionFile: string, private readonly keepSession: () => void = () => {}) {
    this.file = loopsFile(sessionFile);
  }

  /**
   * What was stored. A file that cannot be understood is set aside under another name, a task that cannot is left
   * out; `notices` say so. Never throws.
   */
  load(): { loops: Loop[]; notices: string[] } {
    let text: string;
    try {
      text = fs.readFileSync(this.file, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return { loops: [], notices: [] };
      return { loops: [], notices: [`The loops of this session could not be read: ${wordsOf(error)}`] };
    }
    const stored = tasksIn(text);
    if (!stored) return { loops: [], notices: [this.#setAside()] };
    const loops = new Map<string, Loop>();
    for (const one of stored) {
      const loop = loopOf(one);
      if (loop && !loops.has(loop.id)) loops.set(loop.id, loop);
    }
    const lost = stored.length - loops.size;
    return { loops: [...loops.values()], notices: lost === 0 ? [] : [`${lost} of the ${stored.length} loops in ${this.file} could not be read and were left out`] };
  }

  /** Replaces what is stored, whole or not at all; without loops the file goes. Throws what the system says. */
  save(loops: readonly Loop[]): void {
    if (loops.length === 0) {
      fs.rmSync(this.file, { force: true });
      return;
    }
    this.keepSession();
    const temporary = `${this.file}.${process.pid}.tmp`;
    try {
      fs.writeFileSync(temporary, `${JSON.stringify({ version: VERSION, tasks: loops.map(taskOf) })}\n`, { mode: 0o600 });
      fs.renameSync(temporary, this.file);
    } catch (error) {
      this.#discard(temporary);
      throw error;
    }
  }

  #discard(temporary: string): void {
    try {
      fs.rmSync(temporary, { force: true });
    } catch {
      // Why it could not be written says more.
    }
  }

  #setAside(): string {
    const aside = `${this.file}.damaged-${Date.now()}`;
    try {
      fs.renameSync(this.file, aside);
      return `The loops of this session could not be understood and were not restored; the file is kept as ${aside}`;
    } catch (error) {
      return `The loops of this session could not be understood and were not restored (${this.file}: ${wordsOf(error)})`;
    }
  }
}

function tasksIn(text: string): unknown[] | undefined {
  try {
    const state: unknown = JSON.parse(text);
    if (typeof state !== "object" || state === null) return undefined;
    const { version, tasks } = state as { version?: unknown; tasks?: unknown };
    return version === VERSION && Array.isArray(tasks) ? tasks : undefined;
  } catch {
    // Not JSON: the caller sets it aside and says so.
    return undefined;
  }
}
