import { head } from "../base/text.ts";

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

/** A line that may be shown beside others, its end cut off in words when it is too long. */
export function clipLine(line: string, max: number): string {
  return line.length <= max ? line : `${head(line, max)}… [${line.length - max} more characters]`;
}
