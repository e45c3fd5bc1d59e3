import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import prose from "./ls.md" with { type: "text" };
import { Pace } from "./pace.ts";
import { kindOf, reasonOf, resolveExisting, showPath, statOf } from "./path.ts";
import { ResultList } from "./result-list.ts";
import { tidy } from "./tidy.ts";
import { type Tool, ToolFailure } from "./tool.ts";

const parameters = z.object({
  path: z.string().optional().describe("Folder to list; default the working directory"),
  limit: z.number().optional().describe("Entries at most; default 500"),
});

const LIMIT = 500;

/** Lists a folder. */
export const ls: Tool<z.infer<typeof parameters>> = {
  name: "ls",
  description: prose.trim(),
  snippet: "List a folder",
  parameters: () => parameters,
  prepare: (args) => tidy(args, parameters),
  async run({ path: input, limit }, { cwd, signal }) {
    const { path, stats } = await resolveExisting(input || ".", cwd);
    const shown = showPath(path, cwd);
    if (!stats.isDirectory()) throw new ToolFailure(`${shown} is ${kindOf(stats)}, not a folder.${stats.isFile() ? " Use read to see what is in it." : ""}`);
    const pace = new Pace(signal, Infinity);
    const dirents = await readdir(path, { withFileTypes: true }).catch((error: unknown) => {
      throw new ToolFailure(`Cannot list ${shown}: ${reasonOf(error)}.`);
    });
    const keys = new Map(dirents.map((dirent) => [dirent, dirent.name.toLowerCase()]));
    dirents.sort((a, b) => compare(keys.get(a)!, keys.get(b)!) || compare(a.name, b.name));
    const most = Math.max(1, Math.floor(limit ?? LIMIT));
    const list = new ResultList();
    for (const dirent of dirents.slice(0, most)) {
      if (!list.add(dirent.name + (await suffix(path, dirent)))) break;
      if (pace.isDue) await pace.rest();
    }
    const isMore = dirents.length > most;
    return list.result({
      nothing: `(${shown} is empty)`,
      notes: [isMore && `The first ${most} of ${dirents.length} entries; give a greater limit, or use find, for more.`],
      details: isMore ? { entryLimitReached: most } : {},
    });
  },
};

/** A link to a folder is shown as a folder too. */
async function suffix(folder: string, dirent: Dirent): Promise<string> {
  if (dirent.isDirectory()) return "/";
  if (!dirent.isSymbolicLink()) return "";
  try {
    return (await statOf(join(folder, dirent.name)))?.isDirectory() ? "/" : "";
  } catch {
    // A link that leads where we may not look is shown as what it is, a name.
    return "";
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
