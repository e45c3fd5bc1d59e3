import type { Dirent } from "node:fs";
import { readdir, realpath } from "node:fs/promises";
import { IgnoreRules, rulesAbove, slashed } from "./ignore-rules.ts";
import type { Pace } from "./pace.ts";

export interface Entry {
  /** Below the root of the walk, with `/`. */
  path: string;
  name: string;
  kind: "file" | "folder" | "other";
}

/**
 * All that is below a folder and not ignored by git, a folder at a time: its own entries first, in the order
 * of their names, then its folders one after the other. Hidden files are there, `.git` never is. Symbolic
 * links are told (`other`) and not followed, so nothing can go round in circles. What cannot be read is
 * passed over.
 */
export async function* walk(root: string, pace: Pace): AsyncGenerator<Entry[], void> {
  const real = await realpath(root);
  const top = slashed(real);
  const base = top.endsWith("/") ? top : `${top}/`;
  const waiting: { path: string; rules: IgnoreRules | undefined }[] = [{ path: "", rules: await rulesAbove(real) }];
  for (let folder = waiting.pop(); folder; folder = waiting.pop()) {
    const absolute = folder.path === "" ? top : base + folder.path;
    const dirents = await list(absolute);
    const rules = dirents.some(({ name }) => name === ".gitignore") ? IgnoreRules.add(folder.rules, absolute, `${absolute}/.gitignore`) : folder.rules;
    const entries: Entry[] = [];
    for (const dirent of dirents) {
      const { name } = dirent;
      const isFolder = dirent.isDirectory();
      if (name === ".git") continue;
      const path = folder.path === "" ? name : `${folder.path}/${name}`;
      if (rules?.ignores(base + path, name, isFolder)) continue;
      entries.push({ path, name, kind: isFolder ? "folder" : dirent.isFile() ? "file" : "other" });
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (let at = entries.length - 1; at >= 0; at--) if (entries[at]!.kind === "folder") waiting.push({ path: entries[at]!.path, rules });
    if (pace.isDue) await pace.rest();
    yield entries;
  }
}

async function list(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch {
    // Unreadable, or gone since its name was read.
    return [];
  }
}
