import fs from "../base/lazy-fs.ts";
import { isUtf8 } from "node:buffer";

/** Told of the lines of a file, in order, many at a time. `base` is the offset of the buffer in the file. */
export interface ChunkVisitor {
  /** Whole lines, each with its LF. */
  lines(buffer: Buffer, from: number, to: number, base: number): void;
  /** What stands behind the last LF. */
  rest(buffer: Buffer, from: number, to: number, base: number): void;
  /** A line that is too long to be held; bytes. */
  tooLong(at: number, length: number, isLast: boolean): void;
}

/** Told of each line, in order. `at` and `length` are bytes in the file, without the line's end and the white space around it. */
export interface LineReader {
  /** A line of JSON, parsed. */
  value(value: unknown, at: number, length: number): void;
  /** A line that is no JSON or no UTF-8, or is too long. `isLast`: the file ends with it, without a LF. */
  bad(at: number, length: number, isLast: boolean): void;
}

const CHUNK_BYTES = 256 * 1024;
/** Longer lines than this are passed over: a string could not hold them. */
const MAX_LINE_BYTES = 512 * 1024 * 1024;
/** How much is read before others get their turn. */
const SLICE_BYTES = 4 * 1024 * 1024;
const LF = 10;

/** A buffer that several readings can share, one after the other. */
export interface Scratch {
  buffer: Buffer;
}

/** One of the usual size; reading makes it larger where a line needs that. */
export function newScratch(): Scratch {
  return { buffer: Buffer.allocUnsafe(CHUNK_BYTES) };
}

/** Reads a file from its beginning, in memory that is bounded by its longest line, at LF and nothing else. */
export async function walkLines(fd: number, visitor: ChunkVisitor, scratch = newScratch()): Promise<void> {
  /** Offset of the buffer in the file, and how much of it is filled. */
  let base = 0;
  let filled = 0;
  /** Where a line began that is thrown away as it comes, or -1. */
  let dropped = -1;
  for (let sinceYield = 0; ; ) {
    if (filled === scratch.buffer.length) {
      if (filled < MAX_LINE_BYTES) scratch.buffer = grown(scratch.buffer);
      else {
        if (dropped < 0) dropped = base;
        base += filled;
        filled = 0;
      }
    }
    const { buffer } = scratch;
    const read = fs.readSync(fd, buffer, filled, buffer.length - filled, base + filled);
    if (read === 0) break;
    const lastLf = buffer.subarray(filled, filled + read).lastIndexOf(LF);
    const end = filled + lastLf + 1;
    filled += read;
    if (lastLf < 0) continue;
    let from = base === 0 ? bomLength(buffer, filled) : 0;
    if (dropped >= 0) {
      from = buffer.indexOf(LF) + 1;
      visitor.tooLong(dropped, base + from - 1 - dropped, false);
      dropped = -1;
    }
    visitor.lines(buffer, from, end, base);
    buffer.copyWithin(0, end, filled);
    base += end;
    filled -= end;
    sinceYield += read;
    if (sinceYield < SLICE_BYTES) continue;
    sinceYield = 0;
    await new Promise(setImmediate);
  }
  if (dropped >= 0) visitor.tooLong(dropped, base + filled - dropped, true);
  else if (filled > 0) visitor.rest(scratch.buffer, base === 0 ? bomLength(scratch.buffer, filled) : 0, filled, base);
}

/** Reads a file of JSON lines. Blank lines are passed over. */
export function readLines(fd: number, reader: LineReader): Promise<void> {
  return walkLines(fd, {
    lines: (buffer, from, to, base) => parseLines(buffer, from, to, base, reader),
    rest: (buffer, from, to, base) => parseLine(buffer, from, to, base, reader, true),
    tooLong: (at, length, isLast) => reader.bad(at, length, isLast),
  });
}

/** The value of a line; undefined when it is no JSON or no UTF-8. */
export function parseBytes(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) return undefined;
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** Parses whole lines, all at once when each of them is good. */
function parseLines(buffer: Buffer, from: number, to: number, base: number, reader: LineReader): void {
  /** Where the lines that are not blank begin and end, in turn. */
  const bounds: number[] = [];
  for (let start = from; start < to; ) {
    const end = buffer.indexOf(LF, start);
    const first = skipSpace(buffer, start, end);
    if (first < end) bounds.push(first, dropSpace(buffer, first, end));
    start = end + 1;
  }
  const values = parseAll(buffer.subarray(from, to), bounds.length / 2);
  for (let i = 0; i < bounds.length; i += 2) {
    const start = bounds[i]!;
    const end = bounds[i + 1]!;
    if (values) reader.value(values[i / 2], base + start, end - start);
    else parseLine(buffer, start, end, base, reader, false);
  }
}

/**
 * The values of lines that are all good, or undefined. Leaner than a string and a call a line. The parser takes
 * a value that goes over two lines, but never two on one, so as many values as lines means one on each.
 */
export function parseAll(bytes: Buffer, lines: number): unknown[] | undefined {
  if (!isUtf8(bytes)) return undefined;
  try {
    const { values, error } = Bun.JSONL.parseChunk(bytes);
    return !error && values.length === lines ? values : undefined;
  } catch {
    return undefined; // Nested too deeply for it; JSON.parse decides line by line.
  }
}

function parseLine(buffer: Buffer, from: number, to: number, base: number, reader: LineReader, isLast: boolean): void {
  const start = skipSpace(buffer, from, to);
  const end = dropSpace(buffer, start, to);
  if (start === end) return;
  const value = parseBytes(buffer.subarray(start, end));
  if (value === undefined) reader.bad(base + start, end - start, isLast);
  else reader.value(value, base + start, end - start);
}

function grown(buffer: Buffer): Buffer {
  const larger = Buffer.allocUnsafe(Math.min(buffer.length * 2, MAX_LINE_BYTES));
  buffer.copy(larger);
  return larger;
}

function bomLength(buffer: Buffer, filled: number): number {
  return filled >= 3 && buffer[0] === 0xef && buffer[1] === 0xbb && buffer[2] === 0xbf ? 3 : 0;
}

/** The first byte that is not the white space which JSON allows around a value. */
function skipSpace(buffer: Buffer, start: number, end: number): number {
  while (start < end && isSpace(buffer[start]!)) start++;
  return start;
}

function dropSpace(buffer: Buffer, start: number, end: number): number {
  while (start < end && isSpace(buffer[end - 1]!)) end--;
  return end;
}

const isSpace = (byte: number): boolean => byte === 32 || byte === 9 || byte === 13;
