import type { Child, ChildEnd, Children } from "./children.ts";
import { Deltas } from "./deltas.ts";
import { Output, type OutputTail } from "./output.ts";
import type { ByteSource } from "./pipe.ts";
import { findShell } from "./shell-path.ts";

export interface ShellOptions {
  command: string;
  /** Absolute. */
  cwd: string;
  /** Default: bash, else sh. */
  shellPath?: string | undefined;
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  /** Each piece of the plain text, in order; together they are the whole of it. */
  onText?: ((delta: string) => void) | undefined;
  /** Awaited between pieces, when it gives a promise: what the command writes meanwhile waits in its pipe. */
  ready?: (() => Promise<void> | undefined) | undefined;
}

export interface ShellResult extends OutputTail {
  /** 128+n after signal n; null when cancelled or timed out. */
  exitCode: number | null;
  cancelled: boolean;
  timedOut: boolean;
  /** Everything as it came, private to the user; only when `truncated`. */
  fullOutputPath?: string;
  /** Why there is no such file though the output was truncated. */
  fullOutputFailure?: string;
  /** Something in the background still has the pipe. It lives on; what it writes is thrown away. */
  heldByBackground: boolean;
}

/**
 * Runs a command in a shell of its own, stdin closed, and resolves when the shell has exited and what was in
 * its pipe is read; after an abort or a timeout when all that it had started is gone. Rejects with a Refusal
 * when the shell cannot be started.
 */
export async function runShell(children: Children, o: ShellOptions): Promise<ShellResult> {
  const output = new Output();
  if (o.signal?.aborted) return result(output, { why: "abort", exitCode: 1 }, false);
  const child = children.run({
    argv: [findShell(o.shellPath), "-c", o.command],
    cwd: o.cwd,
    owner: "shell",
    signal: o.signal,
    timeoutMs: o.timeoutMs,
  });
  const reading = new Reading(child, output, o);
  const end = await child.ended;
  await reading.settle();
  return result(output, end, !reading.isAtEnd);
}

async function result(output: Output, end: ChildEnd, heldByBackground: boolean): Promise<ShellResult> {
  const { full, ...tail } = await output.close();
  return {
    ...tail,
    exitCode: end.why === "exit" ? end.exitCode : null,
    cancelled: end.why === "abort" || end.why === "stop",
    timedOut: end.why === "timeout",
    ...(full.path !== undefined && { fullOutputPath: full.path }),
    ...(full.failure !== undefined && { fullOutputFailure: full.failure }),
    heldByBackground,
  };
}

/** After the exit, since a command in the background may write for ever; a pipe never holds as much. */
const DRAIN_MS = 100;
const DRAIN_BYTES = 256 * 1024;
/** With nothing in the pipe for so long all that was in it has been read. */
const QUIET_MS = 2;
const QUIET_MS_UNSEEN = 25;
/** A chatty leftover is drained, but must not keep a processor busy. */
const LEFTOVER_PAUSE_MS = 10;

/** Reads the pipe of a command as long as its shell runs, and afterwards what must be read. */
class Reading {
  isAtEnd = false;
  readonly #source: ByteSource;
  readonly #output: Output;
  readonly #deltas: Deltas | undefined;
  readonly #o: ShellOptions;
  readonly #done: Promise<void>;
  #failure: { error: unknown } | undefined;
  #readAt = performance.now();
  #readBytes = 0;
  #isHeldUp = false;
  #letGo: (() => void) | undefined;
  #isLeftover = false;

  constructor(child: Child, output: Output, o: ShellOptions) {
    this.#source = child.output!;
    this.#output = output;
    this.#o = o;
    if (o.onText) this.#deltas = new Deltas(o.onText);
    o.signal?.addEventListener("abort", this.#release, { once: true });
    this.#done = this.#read().catch((error: unknown) => void (this.#failure = { error }));
  }

  /** Reads what is in the pipe when the shell has exited. */
  async settle(): Promise<void> {
    let leftMs = DRAIN_MS;
    const enoughBytes = this.#readBytes + DRAIN_BYTES;
    for (let pauseMs = 0; !this.isAtEnd && !this.#failure && leftMs > 0 && this.#readBytes < enoughBytes; pauseMs = 1) {
      const from = performance.now();
      await Promise.race([this.#done, Bun.sleep(pauseMs)]);
      // Time in which nobody could take the text is not the command's.
      if (!this.#isHeldUp) leftMs -= performance.now() - from;
      if (!this.#isHeldUp && this.#isQuiet()) break;
    }
    this.#isLeftover = true;
    this.#o.signal?.removeEventListener("abort", this.#release);
    if (this.#failure) throw this.#failure.error;
    this.#deltas?.add(this.#output.end());
    this.#deltas?.flush();
  }

  #isQuiet(): boolean {
    const hasMore = this.#source.hasMore();
    const quietMs = performance.now() - this.#readAt;
    return hasMore === undefined ? quietMs >= QUIET_MS_UNSEEN : !hasMore && quietMs >= QUIET_MS;
  }

  async #read(): Promise<void> {
    for (let bytes = await this.#source.read(); bytes; bytes = await this.#source.read()) {
      this.#readAt = performance.now();
      if (this.#isLeftover) {
        await Bun.sleep(LEFTOVER_PAUSE_MS);
        continue;
      }
      this.#readBytes += bytes.length;
      const { text, ready } = this.#output.add(bytes);
      this.#deltas?.add(text);
      if (ready) await this.#hold(ready);
      const taken = this.#o.ready?.();
      if (taken) await this.#hold(taken);
    }
    this.isAtEnd = true;
  }

  /** Waits, unless there has been an abort: nobody may come to read any more. */
  async #hold(until: Promise<void>): Promise<void> {
    if (this.#o.signal?.aborted) return;
    this.#isHeldUp = true;
    await new Promise<void>((resolve, reject) => {
      this.#letGo = resolve;
      until.then(resolve, reject);
    });
    this.#isHeldUp = false;
    this.#readAt = performance.now();
  }

  readonly #release = () => this.#letGo?.();
}
