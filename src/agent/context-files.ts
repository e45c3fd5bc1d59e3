import fs from "node:fs";
import path from "node:path";
import { wordsOf } from "../base/text.ts";

/** A file with instructions for the model, found by its name. */
export interface ContextFile {
  path: string;
  content: string;
}

export interface ContextFiles {
  /** The agent folder's first, then from the root down to the working folder: the nearest has the last word. */
  files: ContextFile[];
  /** What could not be used as it is, in words. */
  notices: string[];
}

/** The first that is there counts. */
const NAMES = ["AGENTS.md", "CLAUDE.md"];
const MAX_BYTES = 64 * 1024;

/** Finds and reads the context files of a working folder: its own, those of the folders above it, and the user's. */
export function readContextFiles({ agentDir, cwd }: { agentDir: string; cwd: string }): ContextFiles {
  const found: ContextFiles = { files: [], notices: [] };
  const seen = new Set<string>();
  for (const folder of [agentDir, ...fromRoot(cwd)]) {
    const file = contextFileIn(folder);
    if (!file || seen.has(file.real)) continue;
    seen.add(file.real);
    const content = readText(file.path, found.notices);
    if (content !== undefined && content.trim() !== "") found.files.push({ path: file.path, content });
  }
  return found;
}

function fromRoot(cwd: string): string[] {
  const folders = [path.resolve(cwd)];
  for (let folder = path.resolve(cwd), parent = path.dirname(folder); parent !== folder; folder = parent, parent = path.dirname(folder)) folders.unshift(parent);
  return folders;
}

function contextFileIn(folder: string): { path: string; real: string } | undefined {
  for (const name of NAMES) {
    const file = path.join(folder, name);
    try {
      // A folder or a pipe of that name is none.
      if (fs.statSync(file, { throwIfNoEntry: false })?.isFile()) return { path: file, real: fs.realpathSync(file) };
    } catch {
      // In a folder that we may not look into: then it is not for us.
    }
  }
  return undefined;
}

function readText(file: string, notices: string[]): string | undefined {
  try {
    const bytes = readStart(file);
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, MAX_BYTES), { stream: bytes.length > MAX_BYTES });
    if (text.includes("\0")) throw new Error("it is not a text");
    if (bytes.length > MAX_BYTES) notices.push(`${file} is longer than ${MAX_BYTES / 1024} KiB: the model is shown its beginning only.`);
    return text;
  } catch (error) {
    const why = error instanceof TypeError ? "it is not UTF-8" : wordsOf(error);
    notices.push(`${file} is ignored: ${why}.`);
    return undefined;
  }
}

/** At most one byte more than is used. */
function readStart(file: string): Uint8Array {
  const fd = fs.openSync(file, "r");
  try {
    const bytes = new Uint8Array(MAX_BYTES + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) read = fs.readSync(fd, bytes, length, bytes.length - length, null);
    return bytes.subarray(0, length);
  } finally {
    fs.closeSync(fd);
  }
}
