import { countFeeds, lineBlocks } from "./line-blocks.ts";
import type { LineMatcher } from "./line-matcher.ts";

const LF = 10;

export interface Line {
  /** From 1. */
  number: number;
  text: string;
  /** A place in or beside the match; -1 in lines that only stand around one. */
  at: number;
}

/**
 * The lines of a file that match, in order. Between two steps it does little (one line at most), so that whoever
 * asks can rest; `undefined` is such a step without a match.
 */
export function* matchingLines(path: string, matcher: LineMatcher, buffer: Buffer): Generator<Line | undefined, void> {
  for (const block of lineBlocks(path, buffer)) {
    yield* matcher.needle ? byNeedle(buffer, block.end, block.firstLine, matcher, matcher.needle) : oneByOne(buffer, block.end, block.firstLine, matcher);
  }
}

/** Only lines that hold the needle are looked at. */
function* byNeedle(buffer: Buffer, end: number, firstLine: number, matcher: LineMatcher, needle: Buffer): Generator<Line | undefined, void> {
  const bytes = buffer.subarray(0, end);
  let number = firstLine;
  let counted = 0;
  for (let hit = bytes.indexOf(needle); hit !== -1; ) {
    const start = hit === 0 ? 0 : bytes.lastIndexOf(LF, hit - 1) + 1;
    const feed = bytes.indexOf(LF, hit);
    const stop = feed === -1 ? end : feed;
    number += countFeeds(bytes, counted, start);
    counted = start;
    const text = lineText(bytes, start, stop, number === 1);
    const at = matcher.find(text);
    yield at === -1 ? undefined : { number, text, at };
    hit = feed === -1 ? -1 : bytes.indexOf(needle, feed + 1);
  }
}

function* oneByOne(buffer: Buffer, end: number, firstLine: number, matcher: LineMatcher): Generator<Line | undefined, void> {
  const lines = buffer.toString("utf8", 0, buffer[end - 1] === LF ? end - 1 : end).split("\n");
  let seen = 0;
  for (let index = 0; index < lines.length; index++) {
    const text = plain(lines[index]!, firstLine + index === 1);
    const at = matcher.find(text);
    if (at !== -1) yield { number: firstLine + index, text, at };
    else if ((seen += text.length + 1) > 10_000) {
      seen = 0;
      yield undefined;
    }
  }
}

/** Lines by their numbers, in order, without those that are behind the end. */
export function* linesOf(path: string, wanted: readonly number[], buffer: Buffer): Generator<Line, void> {
  let next = 0;
  for (const block of lineBlocks(path, buffer)) {
    let start = 0;
    for (let number = block.firstLine; start < block.end && next < wanted.length; number++) {
      const feed = buffer.indexOf(LF, start);
      const stop = feed === -1 || feed >= block.end ? block.end : feed;
      if (number === wanted[next]) {
        yield { number, text: lineText(buffer, start, stop, number === 1), at: -1 };
        next++;
      }
      start = stop + 1;
    }
    if (next === wanted.length) return;
  }
}

function lineText(buffer: Buffer, start: number, end: number, isFirst: boolean): string {
  return plain(buffer.toString("utf8", start, end), isFirst);
}

function plain(line: string, isFirst: boolean): string {
  const text = isFirst && line.startsWith("\uFEFF") ? line.slice(1) : line;
  return text.endsWith("\r") ? text.slice(0, -1) : text;
}
