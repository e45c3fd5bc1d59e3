/** How much text one result may hold; the first of the two that is reached counts. */
export const MAX_LINES = 2_000;
export const MAX_BYTES = 50 * 1024;

/** What `details.truncation` of a result tells, without the text itself. Lines are counted from 1. */
export interface Truncation {
  truncated: true;
  truncatedBy: "lines" | "bytes";
  /** The range that is shown. */
  firstLine: number;
  outputLines: number;
  outputBytes: number;
  /** Of the whole; absent where nobody counted to the end. */
  totalLines?: number;
  totalBytes?: number;
}

/** Bytes for people: `512 bytes`, `50 KB`, `1.3 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? "1 byte" : `${bytes} bytes`;
  const [size, unit] = bytes < 1024 * 1024 ? [bytes / 1024, "KB"] : bytes < 1024 ** 3 ? [bytes / 1024 ** 2, "MB"] : [bytes / 1024 ** 3, "GB"];
  return `${Number(size.toFixed(1))} ${unit}`;
}

/** `1 line`, `3 lines`. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}

/** The first `max` UTF-16 units of a text, never half a character. */
export function head(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? max - 1 : max);
}

/** The last `max` UTF-16 units of a text, never half a character. */
export function tail(text: string, max: number): string {
  if (text.length <= max) return text;
  const start = text.length - max;
  const first = text.charCodeAt(start);
  return text.slice(first >= 0xdc00 && first < 0xe000 ? start + 1 : start);
}

/** A line that may be shown beside others, its end cut off in words when it is too long. */
export function clipLine(line: string, max: number): string {
  return line.length <= max ? line : `${head(line, max)}… [${line.length - max} more characters]`;
}
