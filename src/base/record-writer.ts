import { logBug } from "./log.ts";

/** What a writer writes to: Bun's FileSink, or a test's. */
export interface ByteSink {
  write(bytes: Uint8Array | string): number | Promise<number>;
  flush(): number | Promise<number>;
}

/** A record that may still change while it waits to be written. */
export interface Waiting {
  /** Records with the same key that follow one another may be merged. */
  key: string;
  /** Takes the next one in; false when it cannot. */
  merge(next: Waiting): boolean;
  /** The JSON text, asked for once, when it is written. */
  text(): string;
  /** A rough size in bytes. */
  size: number;
}

/** One write to the kernel: small enough that a slow reader's progress shows. */
const PIECE = 64 * 1024;

/**
 * The one writer of stdout: one JSON text and LF a record, in order, records that are ready together
 * sharing a write. It never waits for the reader itself; `pendingBytes` says how far the reader is behind.
 */
export class RecordWriter {
  #queue: (string | Waiting)[] = [];
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

  write(text: string): void {
    if (this.dead) return;
    this.#queue.push(text);
    this.#pending += text.length + 1;
    this.#schedule();
  }

  /** Writes a record that may be merged with the one before it while both wait. */
  writeWaiting(record: Waiting): void {
    if (this.dead) return;
    const last = this.#queue.at(-1);
    if (this.#pumping && last !== undefined && typeof last !== "string" && last.key === record.key) {
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
    // A microtask: records of the same moment share one write, and none waits for a timer.
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
        const { text, accounted } = this.#take();
        const small = text.length <= PIECE / 4;
        const bytes = small ? text : Buffer.from(text);
        for (let at = 0; at < bytes.length && !this.dead; at += PIECE) {
          this.sink.write(typeof bytes === "string" ? bytes : bytes.subarray(at, at + PIECE));
          const flushed = this.sink.flush();
          if (flushed instanceof Promise) await flushed;
          this.taken += 1;
        }
        this.#pending -= accounted;
        if (this.#low.length > 0) this.#wakeLow();
      }
    } catch (error) {
      if (!isGone(error)) logBug("stdout", error);
      this.kill();
    } finally {
      this.#pumping = false;
    }
    this.#wake();
  }

  /** Takes records from the queue up to about one piece. */
  #take(): { text: string; accounted: number } {
    let text = "";
    let accounted = 0;
    let count = 0;
    while (count < this.#queue.length && (text.length < PIECE || count === 0)) {
      const record = this.#queue[count]!;
      count += 1;
      if (typeof record === "string") {
        text += record;
        accounted += record.length + 1;
      } else {
        text += record.text();
        accounted += record.size;
      }
      text += "\n";
    }
    if (count === this.#queue.length) this.#queue = [];
    else this.#queue.splice(0, count);
    return { text, accounted };
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

function isGone(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === "EPIPE" || code === "ECONNRESET" || code === "EBADF" || code === "ENOTCONN";
}
