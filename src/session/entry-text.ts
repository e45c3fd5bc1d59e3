import { type Entries, type EntryNode, unreadable } from "./entries.ts";
import { Window } from "./window.ts";

const PIECE_BYTES = 256 * 1024;
const OPENING = "{".charCodeAt(0);
const CLOSING = "}".charCodeAt(0);

/** The JSON of entries as it stands in the file, without parsing it, where it stands there. */
export class EntryText {
  #window: Window | undefined;

  constructor(private readonly entries: Entries) {}

  /** Valid until the next call. */
  of(node: EntryNode): Uint8Array {
    const { source } = this.entries;
    if (node.at < 0 || node.isChanged || !source) return Buffer.from(JSON.stringify(this.entries.body(node)));
    const bytes = (this.#window ??= new Window(source)).read(node.at, node.length);
    if (bytes.length < node.length || bytes[0] !== OPENING || bytes[bytes.length - 1] !== CLOSING) throw unreadable(node);
    return bytes;
  }
}

/** Collects text into pieces of bytes of a handy size. */
export class Pieces {
  #buffer = Buffer.allocUnsafe(PIECE_BYTES);
  #filled = 0;
  readonly #done: Uint8Array[] = [];

  add(text: string | Uint8Array): void {
    const length = typeof text === "string" ? Buffer.byteLength(text) : text.length;
    if (this.#filled + length > this.#buffer.length) {
      this.#flush();
      if (length > this.#buffer.length) this.#buffer = Buffer.allocUnsafe(length);
    }
    if (typeof text === "string") this.#buffer.write(text, this.#filled);
    else this.#buffer.set(text, this.#filled);
    this.#filled += length;
  }

  /** The full pieces so far. */
  *take(): Generator<Uint8Array> {
    while (this.#done.length > 0) yield this.#done.shift()!;
  }

  /** What is left. */
  *end(): Generator<Uint8Array> {
    this.#flush();
    yield* this.take();
  }

  #flush(): void {
    if (this.#filled > 0) this.#done.push(this.#buffer.subarray(0, this.#filled));
    this.#buffer = Buffer.allocUnsafe(PIECE_BYTES);
    this.#filled = 0;
  }
}

/** The JSON array of entries, in pieces: nothing is parsed, and no string holds all of it. */
export function* entriesJson(entries: Entries, nodes: readonly EntryNode[]): Generator<Uint8Array> {
  const text = new EntryText(entries);
  const pieces = new Pieces();
  pieces.add("[");
  for (const [i, node] of nodes.entries()) {
    if (i > 0) pieces.add(",");
    pieces.add(text.of(node));
    yield* pieces.take();
  }
  pieces.add("]");
  yield* pieces.end();
}
