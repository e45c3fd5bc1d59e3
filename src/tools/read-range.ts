import type { FileHandle } from "node:fs/promises";
import { MAX_BYTES, MAX_LINES } from "./limits.ts";

/** Lines of a file as bytes, `\n` included, and what is known of the rest. */
export interface LineRange {
  bytes: Buffer;
  /** From 1. */
  firstLine: number;
  lines: number;
  /** What ended the range before the end of the file. */
  cutBy?: "limit" | "lines" | "bytes";
  /** The line after the range is longer than a result may be: its length, and `bytes` holds its beginning. */
  longLineBytes?: number;
  /** Absent when the file is so long that nobody counted. */
  totalLines?: number;
}

const CHUNK_BYTES = 256 * 1024;
/** How far behind the range lines are still counted. */
const COUNT_BYTES = 16 * 1024 * 1024;
const LF = 10;

/**
 * Reads `limit` lines from line `offset` on, at most as much as one result may hold. Memory does not
 * depend on the size of the file or its lines.
 */
export async function readRange(handle: FileHandle, o: { offset: number; limit?: number | undefined; signal: AbortSignal }): Promise<LineRange> {
  const maxLines = Math.min(o.limit ?? MAX_LINES, MAX_LINES);
  const byLimit = o.limit !== undefined && o.limit <= MAX_LINES;
  const range: LineRange = { bytes: Buffer.alloc(0), firstLine: o.offset, lines: 0 };
  const taken: Buffer[] = [];
  let takenBytes = 0;
  /** The line that is being read: its number, and of its bytes those that could be shown. */
  let line = 1;
  let lineBytes = 0;
  let pieces: Buffer[] = [];
  let isDone = false;
  let counted = 0;

  const endLine = () => {
    const fits = takenBytes + lineBytes <= MAX_BYTES;
    if (fits) {
      taken.push(...pieces);
      takenBytes += lineBytes;
      range.lines++;
    } else {
      isDone = true;
      range.cutBy = "bytes";
      if (range.lines === 0) {
        range.longLineBytes = lineBytes;
        taken.push(...pieces);
      }
    }
    pieces = [];
  };

  for await (const chunk of chunks(handle, o.signal)) {
    let start = 0;
    while (start < chunk.length) {
      if (!isDone && line >= o.offset && range.lines === maxLines) {
        isDone = true;
        range.cutBy = byLimit ? "limit" : "lines";
      }
      const found = chunk.indexOf(LF, start);
      const end = found === -1 ? chunk.length : found + 1;
      if (!isDone && line >= o.offset && lineBytes <= MAX_BYTES) pieces.push(chunk.subarray(start, Math.min(end, start + MAX_BYTES + 1)));
      lineBytes += end - start;
      if (found !== -1) {
        if (!isDone && line >= o.offset) endLine();
        line++;
        lineBytes = 0;
      }
      start = end;
    }
    const isPast = isDone || (line >= o.offset && takenBytes + lineBytes > MAX_BYTES);
    if (isPast && (counted += chunk.length) > COUNT_BYTES) {
      if (!isDone) endLine();
      return { ...range, bytes: Buffer.concat(taken) };
    }
  }
  if (lineBytes > 0) {
    if (!isDone && line >= o.offset) endLine();
    line++;
  }
  return { ...range, bytes: Buffer.concat(taken), totalLines: line - 1 };
}

async function* chunks(handle: FileHandle, signal: AbortSignal): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    signal.throwIfAborted();
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    // A file of /proc says that it has no size, so the end is where nothing comes.
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
