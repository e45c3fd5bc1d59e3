import { wellFormed } from "./json.ts";
import { log, logBug } from "./log.ts";

/** What a writer writes to: Bun's FileSink, or a test's. */
export interface ByteSink {
  write(bytes: Uint8Array | string): number | Promise<number>;
  flush(): number | Promise<number>;
}

/** A record that may still change while it waits to be written. */
export interface Waiting {
  /** Records with the same key that follow one another may be merged. */
  readonly key: string;
  /** Takes the next one in; false when it cannot. */
  merge(next: Waiting): boolean;
  /** The JSON text, asked for once, when it is written. */
  text(): string;
  /** A rough size in bytes. */
  size: number;
}

/** What the system says when the reader has gone. */
const GONE: ReadonlySet<string> = new Set(["EPIPE", "ECONNRESET", "EBADF", "ENOTCONN"]);

/** One write to the kernel: small enough that a slow reader's progress shows. */
const PIECE = 64 * 1024;

/**
 * The one writer of stdout: one JSON text and LF a record, in order, records that are ready together
 * sharing a write. It never waits for the reader itself; `pendingBytes` says how far the reader is behind.
 */
export class RecordWriter {
  #queue: (string | Waiting | readonly Uint8Array[])[] = [];
  #pending = 0;
  #pumping = false;
  #scheduled = false;
  #idle: (() => void)[] = [];
  #low: { below: number; resolve: () => void }[] = [];
  /** Grows with everything the reader took; the last flush watches it. */
  taken = 0;
  dead = false;

  constructor(
    private readonly sink: ByteSink,
    /** Called once when the reader is gone. */
    private readonly onDead: () => void,
  ) {}

  /** Characters accepted and not yet taken by the reader (bytes, where the text is ASCII). */
  get pendingBytes(): number {
    return this.#pending;
  }

  /** Takes a record as JSON text, or as its UTF-8 bytes in pieces. */
  write(record: string | readonly Uint8Array[]): void {
    if (this.dead) return;
    this.#queue.push(record);
    this.#pending += sizeOf(record);
    this.#schedule();
  }

  /** Writes a record that may be merged with the one before it while both wait. */
  writeWaiting(record: Waiting): void {
    if (this.dead) return;
    const last = this.#queue.at(-1);
    if (this.#pumping && last !== undefined && isWaiting(last) && last.key === record.key) {
      const before = last.size;
      if (last.merge(record)) {
        this.#pending += last.size - before;
        return;
      }
    }
    this.#queue.push(record);
    this.#pending += record.size;
    this.#schedule();
  }

  /** Resolves once fewer than `below` bytes wait, or the reader is gone; undefined when that is so already. */
  whenBelow(below: number): Promise<void> | undefined {
    if (this.#pending < below || this.dead) return undefined;
    return new Promise((resolve) => this.#low.push({ below, resolve }));
  }

  /** Resolves once everything is written or the reader is gone. */
  whenWritten(): Promise<void> {
    if ((this.#queue.length === 0 && !this.#pumping) || this.dead) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** The reader is gone: what waits is dropped. */
  kill(): void {
    if (this.dead) return;
    this.dead = true;
    this.#queue = [];
    this.#pending = 0;
    this.#wake();
    this.onDead();
  }

  #schedule(): void {
    if (this.#pumping || this.#scheduled) return;
    this.#scheduled = true;
    // A microtask: records of the same moment share a write, and an answer does not wait for the work it sets off.
    queueMicrotask(() => {
      this.#scheduled = false;
      void this.#pump();
    });
  }

  async #pump(): Promise<void> {
    if (this.#pumping || this.dead) return;
    this.#pumping = true;
    try {
      while (this.#queue.length > 0 && !this.dead) {
        const first = this.#queue[0]!;
        if (isPieces(first)) {
          this.#queue.shift();
          for (const piece of first) await this.#put(piece);
          await this.#put("\n");
          this.#pending -= sizeOf(first);
        } else {
          const { text, size } = this.#take();
          await this.#put(text.length <= PIECE / 4 ? text : Buffer.from(text));
          this.#pending -= size;
        }
        if (this.#low.length > 0) this.#wakeLow();
      }
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === undefined) logBug("stdout", error);
      else if (!GONE.has(code)) log(`rpi: stdout takes no more: ${message}`);
      this.kill();
    } finally {
      this.#pumping = false;
    }
    this.#wake();
  }

  /** Gives bytes to the reader piece by piece, each once the one before is taken. */
  async #put(bytes: string | Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length && !this.dead; at += PIECE) {
      this.sink.write(typeof bytes === "string" ? bytes : bytes.subarray(at, at + PIECE));
      const flushed = this.sink.flush();
      if (flushed instanceof Promise) await flushed;
      this.taken += 1;
    }
  }

  /** Takes records that are text from the queue, up to about one piece. */
  #take(): { text: string; size: number } {
    let text = "";
    let size = 0;
    let count = 0;
    for (; count < this.#queue.length && text.length < PIECE; count += 1) {
      const record = this.#queue[count]!;
      if (isPieces(record)) break;
      text += typeof record === "string" ? record : record.text();
      text += "\n";
      size += sizeOf(record);
    }
    if (count === this.#queue.length) this.#queue = [];
    else this.#queue.splice(0, count);
    return { text: wellFormed(text), size };
  }

  #wakeLow(): void {
    const still = [];
    for (const waiter of this.#low) {
      if (this.#pending < waiter.below) waiter.resolve();
      else still.push(waiter);
    }
    this.#low = still;
  }

  #wake(): void {
    for (const resolve of this.#idle.splice(0)) resolve();
    for (const { resolve } of this.#low.splice(0)) resolve();
  }
}

function isPieces(record: string | Waiting | readonly Uint8Array[]): record is readonly Uint8Array[] {
  return Array.isArray(record);
}

function isWaiting(record: string | Waiting | readonly Uint8Array[]): record is Waiting {
  return typeof record !== "string" && !isPieces(record);
}

/** What a record counts while it waits: about its bytes, LF included. */
function sizeOf(record: string | Waiting | readonly Uint8Array[]): number {
  if (typeof record === "string") return record.length + 1;
  if (isWaiting(record)) return record.size;
  return record.reduce((sum, piece) => sum + piece.length, 1);
}
