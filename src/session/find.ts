import fs from "node:fs";
import path from "node:path";
import { Refusal } from "../base/refusal.ts";
import type { SessionHeader } from "./entry.ts";
import { hasBegun } from "./exclusive.ts";
import { isOf, sessionFiles, type SessionPlaces } from "./list.ts";
import { parseBytes } from "./lines.ts";
import { readFileName } from "./place.ts";

/** The session file of a working directory that was written last; undefined without any. */
export function newestSession(places: SessionPlaces, cwd: string): string | undefined {
  const files: { file: string; mtimeMs: number }[] = [];
  for (const file of sessionFiles(places, cwd)) {
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (stat?.isFile()) files.push({ file, mtimeMs: stat.mtimeMs });
  }
  files.sort((a, b) => b.mtimeMs - a.mtimeMs || (a.file < b.file ? 1 : -1));
  return files.find(({ file }) => {
    const header = headerOf(file);
    return header && isOf(typeof header.cwd === "string" ? header.cwd : "", cwd, places);
  })?.file;
}

/**
 * The file that a person means by a path, an id, or the beginning of one that is unique: first among the sessions of
 * the working directory, then among all. Throws Refusal: `not_found`, or `invalid` naming the candidates.
 */
export function findSession(value: string, places: SessionPlaces, cwd: string): string {
  if (/[/\\]|\.jsonl$/.test(value)) return existing(path.resolve(cwd, value));
  for (const files of value === "" ? [] : [sessionFiles(places, cwd), sessionFiles(places)]) {
    const candidates = [...files].map((file) => ({ file, id: idOf(file) })).filter(({ file, id }) => id?.startsWith(value) && hasBegun(file));
    const exact = candidates.filter(({ id }) => id === value);
    const [only, ...others] = exact.length > 0 ? exact : candidates;
    if (only && others.length === 0) return only.file;
    if (only) throw ambiguous(value, [only, ...others].map(({ file }) => file));
  }
  if (value !== "" && fs.existsSync(path.resolve(cwd, value))) return existing(path.resolve(cwd, value));
  throw new Refusal("not_found", `Session not found: ${JSON.stringify(value)} is neither a file nor the id of a session; \`rpi sessions --all\` lists them`);
}

/** The file of a session by its exact id, in one folder or below the root. */
export function sessionWithId(id: string, places: SessionPlaces, cwd: string): string | undefined {
  for (const file of sessionFiles(places, cwd)) if (idOf(file) === id && hasBegun(file)) return file;
  return undefined;
}

function existing(file: string): string {
  if (!fs.existsSync(file)) throw new Refusal("not_found", `Session file not found: ${file}`);
  return file;
}

function ambiguous(value: string, files: string[]): Refusal {
  const shown = files.slice(0, 10).map((file) => `\n  ${file}`).join("");
  return new Refusal("invalid", `${files.length} sessions begin with ${JSON.stringify(value)}; give more of the id or the path:${shown}${files.length > 10 ? "\n  …" : ""}`);
}

/** From the file's name; from the header of one that is named otherwise. */
function idOf(file: string): string | undefined {
  return readFileName(path.basename(file))?.id ?? headerOf(file)?.id;
}

const HEAD_BYTES = 64 * 1024;

/** The header of a session file, if it is the first line and there. */
function headerOf(file: string): SessionHeader | undefined {
  let fd: number | undefined;
  try {
    fd = fs.openSync(file, "r");
    const bytes = Buffer.allocUnsafe(HEAD_BYTES);
    const read = fs.readSync(fd, bytes, 0, HEAD_BYTES, 0);
    const end = bytes.subarray(0, read).indexOf(10);
    const header = parseBytes(bytes.subarray(0, end < 0 ? read : end)) as SessionHeader | null | undefined;
    return header?.type === "session" && typeof header.id === "string" ? header : undefined;
  } catch {
    return undefined; // Not ours to read, so not one to offer.
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
  }
}
