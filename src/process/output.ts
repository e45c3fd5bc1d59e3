import { scanBytes } from "./byte-scan.ts";
import { OutputFile, type FullOutput } from "./output-files.ts";
import { PlainText } from "./plain-text.ts";

/** What is kept of an output: the last lines that fit both. */
export const MAX_LINES = 2_000;
export const MAX_BYTES = 50 * 1024;

const NEWLINE = 10;
const PIECE_LENGTH = 16 * 1024;

export interface OutputTail {
  /** Decoded and plain; whole lines, or the end of one that is too long alone. */
  output: string;
  truncated: boolean;
  /** Of the plain text. An unfinished last line counts. */
  totalLines: number;
  /** Of the plain text as UTF-8. */
  totalBytes: number;
  shownLines: number;
  /** From 1; 1 also when there is no line. */
  shownFromLine: number;
  /** The beginning of the first line shown is missing. */
  isLineCut: boolean;
}

/** The output of one command: bytes in, plain text out, of which the end is kept; all of it in a file when that is more. */
export class Output {
  readonly #decoder = new TextDecoder();
  readonly #plain = new PlainText();
  readonly #file = new OutputFile();
  #pieces: string[] = [];
  #length = 0;
  #newlines = 0;
  #totalBytes = 0;
  #endsInLine = false;
  #endsInsideControl = false;

  /** The plain text of the next bytes. Before more is added `ready` is to be awaited, if it is there. */
  add(bytes: Uint8Array): { text: string; ready: Promise<void> | undefined } {
    const scan = scanBytes(bytes);
    const decoded = this.#decoder.decode(bytes, { stream: true });
    const text = this.#plain.push(decoded, scan.mayHaveControls || this.#endsInsideControl);
    this.#endsInsideControl = scan.endsInsideControl;
    this.#newlines += scan.newlines;
    this.#totalBytes += scan.isAscii && text.length === bytes.length ? text.length : Buffer.byteLength(text);
    this.#keep(text);
    const ready = this.#file.add(bytes);
    if (this.#isTruncated) this.#file.begin();
    return { text, ready };
  }

  /** The text of a character that was cut off by the end. */
  end(): string {
    const text = this.#plain.push(this.#decoder.decode());
    this.#totalBytes += Buffer.byteLength(text);
    this.#keep(text);
    return text;
  }

  /** What is kept, and the file with everything when something is not. */
  async close(): Promise<OutputTail & { full: FullOutput }> {
    const tail = this.#tail();
    return { ...tail, full: await this.#file.end(tail.truncated) };
  }

  get #totalLines(): number {
    return this.#newlines + (this.#endsInLine ? 1 : 0);
  }

  get #isTruncated(): boolean {
    return this.#totalBytes > MAX_BYTES || this.#totalLines > MAX_LINES;
  }

  #keep(text: string): void {
    if (text === "") return;
    this.#endsInLine = text.charCodeAt(text.length - 1) !== NEWLINE;
    const last = this.#pieces.length - 1;
    // Many small pieces would cost more than the text in them.
    if (last >= 0 && this.#pieces[last]!.length + text.length <= PIECE_LENGTH) this.#pieces[last] += text;
    else this.#pieces.push(text);
    this.#length += text.length;
    // A UTF-16 unit is never less than a byte, so this many units hold all the bytes that are kept.
    while (this.#length - this.#pieces[0]!.length > MAX_BYTES) this.#length -= this.#pieces.shift()!.length;
  }

  #tail(): OutputTail {
    const bytes = Buffer.from(this.#pieces.join(""));
    const start = this.#isTruncated ? Math.max(startByBytes(bytes), startByLines(bytes)) : 0;
    const output = bytes.toString("utf8", start);
    const shownLines = scanBytes(bytes.subarray(start)).newlines + (output !== "" && this.#endsInLine ? 1 : 0);
    return {
      output,
      truncated: this.#isTruncated,
      totalLines: this.#totalLines,
      totalBytes: this.#totalBytes,
      shownLines,
      shownFromLine: Math.max(1, this.#totalLines - shownLines + 1),
      isLineCut: start > 0 && bytes[start - 1] !== NEWLINE,
    };
  }
}

function startByBytes(bytes: Buffer): number {
  let start = bytes.length - MAX_BYTES;
  if (start <= 0) return 0;
  if (bytes[start - 1] === NEWLINE) return start;
  const next = bytes.indexOf(NEWLINE, start) + 1;
  if (next > 0 && next < bytes.length) return next;
  while ((bytes[start]! & 0xc0) === 0x80) start += 1;
  return start;
}

function startByLines(bytes: Buffer): number {
  // A newline at the very end ends the last line and begins none.
  let at = bytes.length - 1;
  for (let lines = 0; lines < MAX_LINES; lines += 1) {
    at = at <= 0 ? -1 : bytes.lastIndexOf(NEWLINE, at - 1);
    if (at < 0) return 0;
  }
  return at + 1;
}
