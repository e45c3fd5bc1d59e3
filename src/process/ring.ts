const FIRST_BYTES = 16 * 1024;

/** The last bytes of a stream, by their place in it: cursors count from its start and never go back. */
export class ByteRing {
  readonly #maxBytes: number;
  #bytes: Uint8Array<ArrayBuffer>;
  #start = 0;
  #end = 0;

  /** Grows up to `maxBytes` as they come. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#bytes = new Uint8Array(Math.min(maxBytes, FIRST_BYTES));
  }

  /** The place of the oldest byte that is kept. */
  get start(): number {
    return this.#start;
  }

  /** The place behind the newest byte. */
  get end(): number {
    return this.#end;
  }

  push(bytes: Uint8Array): void {
    const size = this.#makeRoom(this.#end - this.#start + bytes.length);
    this.#end += bytes.length;
    this.#start = Math.max(this.#start, this.#end - size);
    const kept = bytes.length > size ? bytes.subarray(bytes.length - size) : bytes;
    const at = (this.#end - kept.length) % size;
    const head = Math.min(kept.length, size - at);
    this.#bytes.set(kept.subarray(0, head), at);
    if (head < kept.length) this.#bytes.set(kept.subarray(head), 0);
  }

  /** A copy of what is kept between the places. */
  slice(from: number, to: number): Uint8Array<ArrayBuffer> {
    const size = this.#bytes.length;
    const begin = Math.min(Math.max(from, this.#start), this.#end);
    const result = new Uint8Array(Math.max(0, Math.min(to, this.#end) - begin));
    const at = begin % size;
    const head = Math.min(result.length, size - at);
    result.set(this.#bytes.subarray(at, at + head), 0);
    if (head < result.length) result.set(this.#bytes.subarray(0, result.length - head), head);
    return result;
  }

  #makeRoom(wanted: number): number {
    const size = this.#bytes.length;
    if (wanted <= size || size === this.#maxBytes) return size;
    const kept = this.slice(this.#start, this.#end);
    this.#bytes = new Uint8Array(Math.min(this.#maxBytes, Math.max(wanted, size * 2)));
    // Nothing has been dropped before the ring is at its full size, so it begins at the place 0.
    this.#bytes.set(kept, 0);
    return this.#bytes.length;
  }
}
