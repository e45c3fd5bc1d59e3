import { closeSync } from "node:fs";

const PIECE_BYTES = 65_536;

/** The stdin of a child: what is written waits here until the child takes it. */
export class Input {
  #queue: Uint8Array[] = [];
  #waitingBytes = 0;
  #isWriting = false;
  #isEnding = false;
  #isClosed = false;
  readonly #fd: number | undefined;
  readonly #sink: Bun.FileSink;

  /** Owns the write end of a pipe, or the sink. */
  constructor(end: number | Bun.FileSink) {
    this.#fd = typeof end === "number" ? end : undefined;
    this.#sink = typeof end === "number" ? Bun.file(end).writer() : end;
  }

  /** Bytes the child has not taken yet (what fits into the system's pipe counts as taken). */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** No more can be written: it was ended, or the child has closed its side or is gone. */
  get isEnded(): boolean {
    return this.#isEnding || this.#isClosed;
  }

  /** Queues a copy of the bytes. After the end they are dropped. */
  write(bytes: Uint8Array): void {
    if (this.isEnded || bytes.length === 0) return;
    this.#queue.push(bytes.slice());
    this.#waitingBytes += bytes.length;
    void this.#pump();
  }

  /** Closes the child's stdin once all that was queued has been taken. */
  end(): void {
    if (this.isEnded) return;
    this.#isEnding = true;
    void this.#pump();
  }

  /** Closes at once; what waits is dropped. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#queue = [];
    this.#waitingBytes = 0;
    // Without this a write that waits would keep watching a descriptor that is somebody else's by then.
    void Promise.resolve(this.#sink.end()).catch(() => undefined);
    if (this.#fd !== undefined) closeSync(this.#fd);
  }

  async #pump(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    try {
      for (let bytes = this.#queue.shift(); bytes; bytes = this.#queue.shift()) {
        for (let at = 0; at < bytes.length && !this.#isClosed; at += PIECE_BYTES) {
          const piece = bytes.subarray(at, at + PIECE_BYTES);
          await this.#sink.write(piece);
          await this.#sink.flush();
          if (!this.#isClosed) this.#waitingBytes -= piece.length;
        }
      }
      if (this.#isEnding) this.close();
    } catch {
      // EPIPE: the child reads no more, which isEnded tells.
      this.close();
    } finally {
      this.#isWriting = false;
    }
  }
}
