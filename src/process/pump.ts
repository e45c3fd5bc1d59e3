import type { ByteSource } from "./byte-source.ts";

/** After the exit, since a command in the background may write for ever; a pipe never holds as much. */
const SETTLE_MS = 100;
const SETTLE_BYTES = 256 * 1024;
/** Nothing in the pipe for so long: all has been read, and a background child has had time to let go of it. */
const QUIET_MS = 20;
/** A chatty leftover is drained, but must not keep a processor busy. */
const LEFTOVER_PAUSE_MS = 10;

/** Reads what a child writes as long as it runs, and afterwards what still must be read. */
export class Pump {
  /** Nobody has the pipe any more. */
  isAtEnd = false;
  readonly #source: ByteSource;
  readonly #take: (bytes: Uint8Array) => Promise<unknown> | undefined;
  readonly #done: Promise<void>;
  #failure: { error: unknown } | undefined;
  #readAt = performance.now();
  #readBytes = 0;
  /** While what was read has not been taken; settles when it has. */
  #held: Promise<void> | undefined;
  #isLetGo = false;
  #goOn: (() => void) | undefined;
  #isLeftover = false;

  /** Hands each piece to `take`, and reads on when what that returned has settled: the child waits meanwhile. */
  constructor(source: ByteSource, take: (bytes: Uint8Array) => Promise<unknown> | undefined) {
    this.#source = source;
    this.#take = take;
    this.#done = this.#read().catch((error: unknown) => void (this.#failure = { error }));
  }

  /** From now on nothing that `take` returns is waited for. */
  letGo(): void {
    this.#isLetGo = true;
    this.#goOn?.();
  }

  /**
   * To be called after the exit of the child: resolves when all that was in the pipe has been taken. What
   * others write to it later is read and thrown away, so that they can live on. Rejects with what `take` threw.
   */
  async settle(): Promise<void> {
    let leftMs = SETTLE_MS;
    this.#readAt = performance.now();
    const enoughBytes = this.#readBytes + SETTLE_BYTES;
    for (let pauseMs = 0; !this.isAtEnd && !this.#failure && leftMs > 0 && this.#readBytes < enoughBytes; pauseMs = 1) {
      const from = performance.now();
      if (this.#held) {
        // Time in which nobody could take the bytes is not the child's.
        await Promise.race([this.#done, this.#held]);
        continue;
      }
      await Promise.race([this.#done, Bun.sleep(pauseMs)]);
      if (this.#held) continue;
      leftMs -= performance.now() - from;
      if (this.#isQuiet()) break;
    }
    this.#isLeftover = true;
    if (this.#failure) throw this.#failure.error;
  }

  #isQuiet(): boolean {
    // A busy event loop can make a pipe look quiet that nobody had the time to read.
    return performance.now() - this.#readAt >= QUIET_MS && !this.#source.hasMore();
  }

  async #read(): Promise<void> {
    for (let bytes = await this.#source.read(); bytes; bytes = await this.#source.read()) {
      this.#readAt = performance.now();
      if (this.#isLeftover) {
        await Bun.sleep(LEFTOVER_PAUSE_MS);
        continue;
      }
      this.#readBytes += bytes.length;
      const taken = this.#take(bytes);
      if (taken && !this.#isLetGo) await this.#hold(taken);
    }
    this.isAtEnd = true;
  }

  async #hold(taken: Promise<unknown>): Promise<void> {
    this.#held = new Promise<void>((resolve, reject) => {
      this.#goOn = resolve;
      taken.then(() => resolve(), reject);
    });
    await this.#held;
    this.#held = undefined;
    this.#readAt = performance.now();
  }
}
