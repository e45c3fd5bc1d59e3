import type { RecordWriter } from "../base/record-writer.ts";

/** Bytes that may wait unwritten before commands are held (protocol.md, section 2, Pressure). */
const HOLD_ABOVE = 8 * 1024 * 1024;
/** What may come in while so much waits; then lines are not wanted any more. */
const MAX_LINES = 1000;
const MAX_BYTES = 8 * 1024 * 1024;

/** What a reader of stdout that is far behind means for what comes in: it is held, in its order, and in the end not read. */
export class Pressure {
  #held: (() => void)[] = [];
  #isReleasing = false;
  /** What has come since the reader fell behind. */
  #lines = 0;
  #bytes = 0;

  constructor(
    private readonly writer: RecordWriter,
    /** Called when nothing is held any more. */
    private readonly released: () => void,
  ) {}

  get isHolding(): boolean {
    return this.#held.length > 0;
  }

  /** True while the reader is far behind, and until what was held has begun. */
  get isOn(): boolean {
    if (this.isHolding || this.writer.pendingBytes > HOLD_ABOVE) return true;
    this.#lines = 0;
    this.#bytes = 0;
    return false;
  }

  /** True when no more lines should be read. */
  get isFull(): boolean {
    return this.isOn && (this.#lines > MAX_LINES || this.#bytes > MAX_BYTES);
  }

  /** Undefined while little waits unwritten; else resolves once it does. */
  whenLow(): Promise<void> | undefined {
    return this.writer.whenBelow(HOLD_ABOVE);
  }

  /** A line of so many bytes has come. */
  count(bytes: number): void {
    if (!this.isOn) return;
    this.#lines += 1;
    this.#bytes += bytes;
  }

  /** Does it at once, or when less waits unwritten and what was held before has been done. */
  hold(act: () => void): void {
    if (!this.isOn) {
      act();
      return;
    }
    this.#held.push(act);
    void this.#release();
  }

  /** Does what is held now, whatever waits. */
  let(): void {
    for (const act of this.#held.splice(0)) act();
  }

  drop(): void {
    this.#held = [];
  }

  async #release(): Promise<void> {
    if (this.#isReleasing) return;
    this.#isReleasing = true;
    while (this.isHolding) {
      await this.whenLow();
      this.#held.shift()?.();
    }
    this.#isReleasing = false;
    this.released();
  }
}
