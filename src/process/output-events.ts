import type { ByteRing } from "./ring.ts";

/** The output of one process between two places, as the wire tells it. */
export interface OutputPiece {
  startCursor: number;
  cursor: number;
  dataBase64: string;
}

const EVERY_MS = 25;
/** Nothing came for so long: what comes now is somebody's answer, such as the echo of a key, and no stream. */
const QUIET_MS = 4;
const PIECE_BYTES = 64 * 1024;

/** Tells of what comes into a ring: at once after a quiet moment, else gathered for a while; never more at once than a piece. */
export class OutputEvents {
  readonly #ring: ByteRing;
  readonly #pieceBytes: number;
  readonly #emit: (piece: OutputPiece) => void;
  readonly #isPressed: () => boolean;
  readonly #now: () => number;
  #told = 0;
  #pushedAt = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** While `isPressed` nothing but the last piece is told, and what the ring has moved past by then is a gap between the cursors. */
  constructor(o: { ring: ByteRing; maxBytes: number; emit: (piece: OutputPiece) => void; isPressed: () => boolean; now?: () => number }) {
    this.#ring = o.ring;
    this.#pieceBytes = Math.min(PIECE_BYTES, o.maxBytes);
    this.#emit = o.emit;
    this.#isPressed = o.isPressed;
    this.#now = o.now ?? (() => performance.now());
  }

  /** Puts bytes into the ring and tells of them, now or soon. */
  push(bytes: Uint8Array): void {
    const now = this.#now();
    const wasQuiet = now - this.#pushedAt >= QUIET_MS;
    this.#pushedAt = now;
    for (let at = 0; at < bytes.length; ) {
      const untold = this.#ring.end - this.#told;
      // Not beyond a full piece, or a small ring would lose what could have been told.
      const size = untold < this.#pieceBytes ? this.#pieceBytes - untold : this.#pieceBytes;
      this.#ring.push(bytes.subarray(at, at + size));
      at += size;
      if (this.#ring.end - this.#told >= this.#pieceBytes) this.#flush();
    }
    if (wasQuiet) this.#flush();
    else if (this.#told < this.#ring.end) this.#flushSoon();
  }

  /** Tells the last of it, under pressure too: how something ended is what its reader will want, and it is one piece. */
  end(): void {
    this.#tell();
  }

  #flushSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#flush();
    }, EVERY_MS);
  }

  #flush(): void {
    // Asked again soon: when the reader is back it hears the newest piece.
    if (this.#isPressed()) this.#flushSoon();
    else this.#tell();
  }

  #tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { end } = this.#ring;
    if (this.#told === end) return;
    const startCursor = Math.max(this.#told, this.#ring.start, end - this.#pieceBytes);
    this.#told = end;
    const dataBase64 = Buffer.from(this.#ring.slice(startCursor, end).buffer).toString("base64");
    this.#emit({ startCursor, cursor: end, dataBase64 });
  }
}
