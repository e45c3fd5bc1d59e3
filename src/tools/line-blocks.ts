import { closeSync, constants, openSync, readSync } from "node:fs";

const LF = 10;
/** A NUL among the first bytes makes a file a binary one, as for git. */
const LOOK_BYTES = 8_000;

/** Room for a block of lines; of a line that is longer only this much is seen. */
export const BLOCK_BYTES = 1024 * 1024;

/** Some whole lines of a file, at `buffer[0, end)`. */
export interface Block {
  end: number;
  /** The number of the first of them, from 1. */
  firstLine: number;
}

/**
 * The lines of a text file, block by block, in a buffer that each block overwrites. Nothing comes of a
 * binary file, nor of one that cannot be read.
 */
export function* lineBlocks(path: string, buffer: Buffer): Generator<Block, void> {
  const file = opened(path);
  if (file === undefined) return;
  try {
    let filled = 0;
    let firstLine = 1;
    let isBehindLongLine = false;
    const drop = (bytes: number) => {
      buffer.copyWithin(0, bytes, filled);
      filled -= bytes;
    };
    for (let isFirst = true; ; isFirst = false) {
      const room = buffer.length - filled;
      const read = readSome(file, buffer, filled, room);
      filled += read;
      const isAtEnd = read < room;
      if (isFirst && buffer.subarray(0, Math.min(filled, LOOK_BYTES)).includes(0)) return;
      if (isBehindLongLine) {
        const feed = buffer.subarray(0, filled).indexOf(LF);
        drop(feed === -1 ? filled : feed + 1);
        if (feed !== -1) {
          isBehindLongLine = false;
          firstLine++;
        } else if (!isAtEnd) continue;
      }
      let end = isAtEnd ? filled : buffer.subarray(0, filled).lastIndexOf(LF) + 1;
      if (end === 0 && filled === buffer.length) {
        end = filled;
        isBehindLongLine = true;
      }
      if (end > 0) yield { end, firstLine };
      if (isAtEnd) return;
      firstLine += countFeeds(buffer, 0, end);
      drop(end);
    }
  } finally {
    closeSync(file);
  }
}

/** Line feeds in `buffer[start, end)`. */
export function countFeeds(buffer: Buffer, start: number, end: number): number {
  let count = 0;
  for (let at = buffer.indexOf(LF, start); at !== -1 && at < end; at = buffer.indexOf(LF, at + 1)) count++;
  return count;
}

function opened(path: string): number | undefined {
  try {
    // What is a pipe by now, or a file of the kernel that waits for news, must not hold up everything.
    return openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch {
    // Not ours to read, or gone since its name was read: a search passes over it.
    return undefined;
  }
}

function readSome(file: number, buffer: Buffer, start: number, length: number): number {
  try {
    return readSync(file, buffer, start, length, null);
  } catch {
    // A broken disk, a file that is none: it ends here for a search.
    return 0;
  }
}
