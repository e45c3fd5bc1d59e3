/** Bytes of a file. */
export interface Source {
  /** Fills the buffer and gives the part that is filled: less than all of it at the end of the file. */
  read(at: number, buffer: Buffer): Buffer;
}

const WINDOW_BYTES = 256 * 1024;

/** Reads ahead: for many small pieces of a file that are asked for more or less in its order. */
export class Window {
  readonly #buffer = Buffer.allocUnsafe(WINDOW_BYTES);
  #filled: Buffer = this.#buffer.subarray(0, 0);
  #at = 0;

  constructor(private readonly source: Source) {}

  /** Valid until the next call; fewer bytes at the end of the file. */
  read(at: number, length: number): Buffer {
    if (length > WINDOW_BYTES) return this.source.read(at, Buffer.allocUnsafe(length));
    if (at < this.#at || at + length > this.#at + this.#filled.length) {
      this.#filled = this.source.read(at, this.#buffer);
      this.#at = at;
    }
    const start = at - this.#at;
    return this.#filled.subarray(start, start + length);
  }
}
