const LF = 0x0a;
const CR = 0x0d;

/** Why there is no line: it was longer than the limit and has been thrown away. */
export interface TooLong {
  tooLong: true;
}

/**
 * Bytes in, lines out (protocol.md, section 2): split at LF only, trailing CRs stripped, a last line
 * without LF given by `end()`. A line over `maxBytes` is dropped as it arrives and told once, at its LF.
 * Each byte is copied at most once, so a line costs time linear in its length.
 */
export class LineSplitter {
  #pieces: Uint8Array[] = [];
  #length = 0;
  #dropping = false;

  constructor(
    private readonly maxBytes: number,
    /** The bytes are valid only during the call. */
    private readonly onLine: (line: Uint8Array | TooLong) => void,
  ) {}

  push(chunk: Uint8Array): void {
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      this.#finish(chunk.subarray(start, end));
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(start === 0 ? chunk : chunk.subarray(start));
  }

  /** Gives a last line that has no LF. */
  end(): void {
    if (this.#length > 0 || this.#dropping) this.#finish(new Uint8Array(0));
  }

  #keep(piece: Uint8Array): void {
    if (this.#dropping) return;
    this.#length += piece.length;
    // CRs before the LF do not count, but a line of nothing but CRs must not grow either.
    if (this.#length > this.maxBytes + 2) {
      this.#dropping = true;
      this.#pieces = [];
      this.#length = 0;
      return;
    }
    this.#pieces.push(piece);
  }

  #finish(last: Uint8Array): void {
    if (this.#dropping) {
      this.#dropping = false;
      this.onLine({ tooLong: true });
      return;
    }
    let line = last;
    if (this.#pieces.length > 0) {
      line = Buffer.concat([...this.#pieces, last]);
      this.#pieces = [];
      this.#length = 0;
    }
    let end = line.length;
    while (end > 0 && line[end - 1] === CR) end -= 1;
    if (end > this.maxBytes) this.onLine({ tooLong: true });
    else this.onLine(end === line.length ? line : line.subarray(0, end));
  }
}
