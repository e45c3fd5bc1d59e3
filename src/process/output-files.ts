import { join } from "node:path";
import fs from "../base/lazy-fs.ts";
import { wordsOf } from "../base/text.ts";

/** Files that go when rpi does. */
const passing = new Set<string>();
let isWatchingExit = false;

/** The file stays after rpi's end: something that lives on, like a session, names it. */
export function keep(path: string): void {
  passing.delete(path);
}

/** Removes at once what would be removed at exit. */
export function removeOutputFiles(): void {
  for (const path of passing) {
    try {
      fs.unlinkSync(path);
    } catch {
      // Somebody has removed or moved it already.
    }
  }
  passing.clear();
}

function create(): { path: string; fd: number } {
  const { tmpdir } = require("node:os") as typeof import("node:os");
  const path = join(tmpdir(), `rpi-output-${crypto.randomUUID()}.log`);
  const fd = fs.openSync(path, "wx", 0o600);
  passing.add(path);
  if (!isWatchingExit) process.on("exit", removeOutputFiles);
  isWatchingExit = true;
  return { path, fd };
}

const HELD_BYTES = 256 * 1024;
const AHEAD_BYTES = 1024 * 1024;

export interface FullOutput {
  path?: string;
  /** Why there is no file, or none that is complete. */
  failure?: string;
}

/** Everything a command has written, in a private (0600) file as soon as it is long; held in memory before. */
export class OutputFile {
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #file: { path: string; fd: number } | undefined;
  #failure: string | undefined;
  #isWriting = false;
  #writing: Promise<void> | undefined;

  /** The next bytes, which must not change afterwards. Await what it returns before adding more. */
  add(bytes: Uint8Array): Promise<void> | undefined {
    if (this.#failure !== undefined) return undefined;
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (!this.#file && this.#waitingBytes <= HELD_BYTES) return undefined;
    this.begin();
    return this.#waitingBytes > AHEAD_BYTES ? this.#writing : undefined;
  }

  /** From now on in a file, all that came before included. */
  begin(): void {
    if (this.#failure !== undefined) return;
    try {
      this.#file ??= create();
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.#isWriting) return;
    this.#isWriting = true;
    this.#writing = this.#write(this.#file.fd);
  }

  /** Writes the rest and closes. The file goes unless it is wanted. */
  async end(isWanted: boolean): Promise<FullOutput> {
    if (isWanted) this.begin();
    while (this.#isWriting) await this.#writing;
    this.#waiting = [];
    if (this.#file) {
      fs.closeSync(this.#file.fd);
      if (!isWanted || this.#failure !== undefined) {
        fs.unlinkSync(this.#file.path);
        passing.delete(this.#file.path);
      }
    }
    if (!isWanted) return {};
    return this.#failure === undefined && this.#file ? { path: this.#file.path } : { failure: this.#failure ?? "" };
  }

  async #write(fd: number): Promise<void> {
    while (this.#waiting.length > 0 && this.#failure === undefined) {
      const bytes = this.#waiting.length === 1 ? this.#waiting[0]! : Buffer.concat(this.#waiting);
      this.#waiting = [];
      try {
        await writeAll(fd, bytes);
        this.#waitingBytes -= bytes.length;
      } catch (error) {
        this.#fail(error);
      }
    }
    // Here, not when the promise settles: what is added in between must begin anew.
    this.#isWriting = false;
  }

  #fail(error: unknown): void {
    this.#failure = wordsOf(error);
    this.#waiting = [];
    this.#waitingBytes = 0;
  }
}

async function writeAll(fd: number, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    at += await new Promise<number>((resolve, reject) => {
      fs.write(fd, bytes, at, bytes.length - at, null, (error, written) => (error ? reject(error) : resolve(written)));
    });
  }
}
