import fs, { type Dirent } from "node:fs";
import path from "node:path";
import { glance, type SessionSummary } from "./glance.ts";
import { newScratch } from "./lines.ts";
import { folderName } from "./place.ts";


/** Where to look for sessions. */
export interface SessionPlaces {
  /** `<agentDir>/sessions`, with a folder for each working directory. */
  root: string;
  /** Instead of it: one folder for the sessions of all working directories (`--session-dir`). */
  dir?: string;
}

/** How long files are looked at before others get their turn. */
const SLICE_MS = 20;

/** What was seen of a file; it holds as long as the file has the same size and time. */
const seen = new Map<string, { size: number; mtimeMs: number; summary: SessionSummary | undefined }>();

/** Sessions of one working directory, or of all, newest first. Files that are no sessions or cannot be read are left out. */
export async function listSessions(places: SessionPlaces, cwd?: string): Promise<SessionSummary[]> {
  const found: SessionSummary[] = [];
  const scratch = newScratch();
  let turn = Date.now();
  for (const file of sessionFiles(places, cwd)) {
    const summary = await lookAt(file, scratch);
    if (summary && (cwd === undefined || isOf(summary.cwd, cwd, places))) found.push(summary);
    if (Date.now() - turn < SLICE_MS) continue;
    await new Promise(setImmediate);
    turn = Date.now();
  }
  return found.sort((a, b) => b.modifiedAt - a.modifiedAt || (a.path < b.path ? 1 : -1));
}

/** The files that can be sessions, of one working directory or of all. */
export function* sessionFiles({ root, dir }: SessionPlaces, cwd?: string): Generator<string> {
  for (const folder of dir !== undefined ? [dir] : cwd !== undefined ? [path.join(root, folderName(cwd))] : foldersIn(root)) {
    // Opening a pipe waits for its other end.
    for (const entry of entriesIn(folder)) if (entry.name.endsWith(".jsonl") && !entry.isFIFO()) yield path.join(folder, entry.name);
  }
}

/** Whether a session belongs to a working directory. Different ones can share a folder: `/a/b` and `/a-b`. */
export function isOf(sessionCwd: string, cwd: string, { dir }: SessionPlaces): boolean {
  return sessionCwd === cwd || (dir === undefined && folderName(sessionCwd) !== folderName(cwd));
}

async function lookAt(file: string, scratch: ReturnType<typeof newScratch>): Promise<SessionSummary | undefined> {
  try {
    const { size, mtimeMs } = fs.statSync(file);
    const known = seen.get(file);
    if (known?.size === size && known.mtimeMs === mtimeMs) return known.summary;
    const summary = await glance(file, scratch);
    seen.set(file, { size, mtimeMs, summary });
    return summary;
  } catch {
    return undefined; // Gone in the meantime, or not ours to read.
  }
}

function foldersIn(root: string): string[] {
  return entriesIn(root).map(({ name }) => path.join(root, name));
}

function entriesIn(folder: string): Dirent[] {
  try {
    return fs.readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // Not there yet, or not a folder.
  }
}
