import type { ReadableStreamDefaultReader } from "node:stream/web";

/** Takes lines from a stream of bytes, and can be told to stop taking. */
export class LineReader {
  /** Settles when the stream has ended or was closed. */
  readonly ended: Promise<void>;
  #reader: ReadableStreamDefaultReader<Uint8Array>;
  #onLine: (line: Uint8Array) => void;
  #pending: Uint8Array[] = [];
  #pause: PromiseWithResolvers<void> | undefined;

  constructor(stream: ReadableStream<Uint8Array>, onLine: (line: Uint8Array) => void) {
    this.#reader = stream.getReader();
    this.#onLine = onLine;
    this.ended = this.#read();
  }

  /** Bytes since the last line ended. */
  get rest(): number {
    return this.#pending.reduce((sum, piece) => sum + piece.length, 0);
  }

  pause(): void {
    this.#pause ??= Promise.withResolvers<void>();
  }

  resume(): void {
    this.#pause?.resolve();
    this.#pause = undefined;
  }

  /** Lets go of the stream; what has not been taken is lost. */
  async close(): Promise<void> {
    this.#pending = [];
    this.resume();
    await this.#reader.cancel();
  }

  async #read(): Promise<void> {
    for (;;) {
      await this.#pause?.promise;
      const { done, value } = await this.#reader.read();
      if (done) return;
      this.#split(value);
    }
  }

  #split(chunk: Uint8Array): void {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      const piece = chunk.subarray(start, end);
      this.#onLine(this.#pending.length === 0 ? piece : Buffer.concat([...this.#pending, piece]));
      this.#pending = [];
      start = end + 1;
    }
    if (start < chunk.length) this.#pending.push(chunk.slice(start));
  }
}
