import { existsSync } from "node:fs";
import { readdir, readlink, stat } from "node:fs/promises";
import type { Stats } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { ToolFailure } from "./tool.ts";

/**
 * The absolute path that a model means: `~` is the home folder, a `file:` URL is taken, and an `@` before a
 * path (the way people mention files) is dropped unless something of that name is there.
 */
export function resolvePath(input: string, cwd: string): string {
  if (input.includes("\0")) throw new ToolFailure("A path cannot hold a NUL character.");
  let path = input;
  if (path.startsWith("@") && !existsSync(resolve(cwd, path.split("/", 1)[0]!))) path = path.slice(1);
  if (path === "~") return homedir();
  if (path.startsWith("~/") || path.startsWith(`~${sep}`)) return join(homedir(), path.slice(2));
  if (path.startsWith("file://")) {
    try {
      return fileURLToPath(path);
    } catch (error) {
      throw new ToolFailure(`${path} is no usable file URL: ${(error as Error).message}`);
    }
  }
  return isAbsolute(path) ? resolve(path) : resolve(cwd, path);
}

/**
 * The path of something that exists. Where the exact name is missing, one that only looks the same
 * (composed or decomposed accents, typographic quotes, odd spaces) is taken for it.
 */
export async function resolveExisting(input: string, cwd: string): Promise<{ path: string; stats: Stats }> {
  const path = resolvePath(input, cwd);
  const stats = await statOf(path);
  if (stats) return { path, stats };
  const twin = await lookAlike(path);
  const twinStats = twin && (await statOf(twin));
  if (twin && twinStats) return { path: twin, stats: twinStats };
  throw new ToolFailure(await describeMissing(path, cwd));
}

/** Undefined when nothing is there; every other trouble is told in words. */
export async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new ToolFailure(`Cannot look at ${path}: ${reasonOf(error)}.`);
  }
}

/** What stands at a path that is no plain file: `a folder`, `a pipe`, … */
export function kindOf(stats: Stats): string {
  if (stats.isFile()) return "a file";
  if (stats.isDirectory()) return "a folder";
  if (stats.isFIFO()) return "a pipe";
  if (stats.isSocket()) return "a socket";
  return "a device";
}

/** A path as a model should see it: relative inside the cwd, else absolute; always with `/`. */
export function showPath(path: string, cwd: string): string {
  const inside = relative(cwd, path);
  const shown = inside === "" ? "." : inside.startsWith("..") || isAbsolute(inside) ? path : inside;
  return sep === "/" ? shown : shown.replaceAll(sep, "/");
}

const REASONS: Record<string, string> = {
  EACCES: "permission denied",
  EPERM: "not permitted",
  ENOENT: "it is not there",
  ENOTDIR: "a part of the path is a file, not a folder",
  EISDIR: "it is a folder",
  ELOOP: "its symbolic links go round in a circle",
  ENAMETOOLONG: "the name is too long",
  ENOSPC: "no space is left on the disk",
  EDQUOT: "the disk quota is used up",
  EROFS: "the file system is read-only",
  EMFILE: "too many files are open",
  EIO: "the disk reports an error",
  EBUSY: "it is in use",
  EAGAIN: "nothing is there to be read right now",
  ETXTBSY: "it is a program that is running",
  EEXIST: "a file is where a folder is needed",
  EFBIG: "it would be too large",
};

/** Why the system refused, in words. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return (code !== undefined && REASONS[code]) || message;
}

async function lookAlike(path: string): Promise<string | undefined> {
  const wanted = foldName(basename(path));
  const twins = (await namesIn(dirname(path))).filter((name) => foldName(name) === wanted);
  return twins.length === 1 ? join(dirname(path), twins[0]!) : undefined;
}

function foldName(name: string): string {
  return name.normalize("NFC").replace(/[\u2018\u2019]/g, "'").replace(/[\u201c\u201d]/g, '"').replace(/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g, " ");
}

/** Says what is missing and what there is instead. */
async function describeMissing(path: string, cwd: string): Promise<string> {
  const target = await linkTarget(path);
  if (target !== undefined) return `${showPath(path, cwd)} is a link to ${target}, where nothing is.`;
  let folder = dirname(path);
  let first = basename(path);
  let stats = await statOf(folder);
  while (folder !== dirname(folder) && !stats) {
    first = basename(folder);
    folder = dirname(folder);
    stats = await statOf(folder);
  }
  if (stats && !stats.isDirectory()) return `There is nothing at ${showPath(path, cwd)}: ${showPath(folder, cwd)} is ${kindOf(stats)}, not a folder.`;
  const names = await namesIn(folder);
  const near = nearestNames(first, names).map((name) => showPath(join(folder, name), cwd));
  const where = folder === dirname(path) ? "" : ` The folder ${showPath(join(folder, first), cwd)} does not exist either.`;
  const hint = near.length > 0 ? ` Did you mean ${near.join(" or ")}?` : ` Look with ls or find (in ${showPath(folder, cwd)} for a start).`;
  return `There is nothing at ${showPath(path, cwd)}.${where}${hint}`;
}

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch {
    // It is no link, or not there at all.
    return undefined;
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch {
    // Only used to make a suggestion; an unreadable folder has none to make.
    return [];
  }
}

/** Up to three names that somebody who wrote `wanted` may have meant, the nearest first. */
function nearestNames(wanted: string, names: readonly string[]): string[] {
  const goal = wanted.toLowerCase();
  const allowed = Math.max(1, Math.floor(goal.length / 3));
  const scored: { name: string; distance: number }[] = [];
  for (const name of names.slice(0, 5_000)) {
    const other = name.toLowerCase();
    if (Math.abs(other.length - goal.length) > allowed && !other.startsWith(goal) && !goal.startsWith(other)) continue;
    const isPart = goal.length > 2 && (other.startsWith(goal) || (other.length > 2 && goal.startsWith(other)));
    const distance = isPart ? 1 : editDistance(goal.slice(0, 64), other.slice(0, 64));
    if (distance <= allowed) scored.push({ name, distance });
  }
  return scored.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1)).slice(0, 3).map(({ name }) => name);
}

/** Letters to add, drop, replace or swap with their neighbour. */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1), isSwap ? rows[i - 2]![j - 2]! + 1 : Infinity);
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
