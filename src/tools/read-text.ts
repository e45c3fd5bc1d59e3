import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { sizeWords } from "../base/text.ts";
import { MAX_BYTES, MAX_LINES, type Truncation } from "./limits.ts";
import { type LineRange, readRange } from "./read-range.ts";
import { ToolFailure, type ToolResult } from "./tool.ts";

/** How much of a line that is too long is shown. */
const LONG_LINE_BYTES = 2_000;

/** Text of a file, cut at the head, with words about the range where it is not the whole. */
export async function readText(
  handle: FileHandle,
  o: { shown: string; stats: Stats; offset: number; limit?: number | undefined; signal: AbortSignal },
): Promise<ToolResult> {
  const range = await readRange(handle, o);
  if (range.lines === 0 && range.longLineBytes === undefined && range.cutBy === undefined) {
    if (range.totalLines === 0) return words("[The file is empty.]");
    throw new ToolFailure(`Line ${o.offset} is behind the end: ${o.shown} has ${range.totalLines} lines.`);
  }
  const bytes = range.longLineBytes === undefined ? range.bytes : wholeCharacters(range.bytes.subarray(0, LONG_LINE_BYTES));
  const { text, odd } = decode(bytes, o.shown, o.stats.size);
  const notes = [...rangeNotes(range, o.shown), ...(odd > 0 ? [`${odd} bytes or more are not valid UTF-8 and shown as \uFFFD; edit cannot change this file.`] : [])];
  if (notes.length === 0) return words(range.firstLine === 1 ? text.replace(/^\uFEFF/, "") || "[The file holds nothing but a byte order mark.]" : text);
  const result = words(`${text.replace(/^\uFEFF/, "").replace(/\n$/, "")}\n\n[${notes.join(" ")}]`);
  const truncation = truncationOf(range, o.stats.size);
  return truncation ? { ...result, details: { truncation } } : result;
}

function rangeNotes(range: LineRange, shown: string): string[] {
  const of = range.totalLines === undefined ? " (the file goes on for more than 16 MB)" : ` of ${range.totalLines}`;
  const first = range.firstLine;
  if (range.longLineBytes !== undefined) {
    const more = range.totalLines === undefined || range.totalLines > first ? ` The next line is offset=${first + 1}.` : "";
    return [
      `Line ${first}${of} is ${range.totalLines === undefined ? "more than " : ""}${sizeWords(range.longLineBytes)} long, more than one result may hold (${sizeWords(MAX_BYTES)}); this is its beginning.`,
      `For more use bash, e.g. sed -n '${first}p' ${JSON.stringify(shown)} | cut -c2000-4000.${more}`,
    ];
  }
  if (range.cutBy === undefined) return [];
  const last = first + range.lines - 1;
  const why = range.cutBy === "lines" ? `, at most ${MAX_LINES} at once` : range.cutBy === "bytes" ? `, at most ${sizeWords(MAX_BYTES)} at once` : "";
  return [`Showing lines ${first}-${last}${of}${why}. Go on with offset=${last + 1}.`];
}

function truncationOf(range: LineRange, size: number): Truncation | undefined {
  if (range.cutBy === undefined || range.cutBy === "limit") return undefined;
  return {
    truncated: true,
    truncatedBy: range.cutBy,
    firstLine: range.firstLine,
    outputLines: range.lines,
    outputBytes: range.longLineBytes === undefined ? range.bytes.length : LONG_LINE_BYTES,
    ...(range.totalLines === undefined ? {} : { totalLines: range.totalLines }),
    totalBytes: size,
  };
}

/** The text, and how many of its bytes are none; throws in words when it is not text at all. */
function decode(bytes: Buffer, shown: string, size: number): { text: string; odd: number } {
  const isWide = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  if (isWide) throw new ToolFailure(`${shown} is UTF-16 text. Make it readable with bash: iconv -f UTF-16 -t UTF-8 ${JSON.stringify(shown)}`);
  if (bytes.includes(0)) throw new ToolFailure(notText(shown, size, "it holds NUL bytes"));
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), odd: 0 };
  } catch {
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    const odd = text.split("\uFFFD").length - 1;
    if (odd > text.length / 10) throw new ToolFailure(notText(shown, size, "it is not valid UTF-8"));
    return { text, odd };
  }
}

function notText(shown: string, size: number, why: string): string {
  return `${shown} is not text: ${why} (${sizeWords(size)}). Look into it with bash, e.g. file, xxd | head or strings.`;
}

/** Without the part of a character that a cut left at the end. */
function wholeCharacters(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && end > bytes.length - 4 && (bytes[end - 1]! & 0xc0) === 0x80) end--;
  const lead = bytes[end - 1] ?? 0;
  const needs = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return bytes.subarray(0, bytes.length - (end - 1) >= needs ? bytes.length : end - 1);
}

function words(text: string): ToolResult {
  return { content: [{ type: "text", text }] };
}
