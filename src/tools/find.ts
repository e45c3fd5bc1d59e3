import { isAbsolute, relative } from "node:path";
import { z } from "zod";
import prose from "./find.md" with { type: "text" };
import { slashed } from "./ignore-rules.ts";
import { Pace } from "./pace.ts";
import { resolveExisting, showPath } from "./path.ts";
import { ResultList } from "./result-list.ts";
import { tidy } from "./tidy.ts";
import { type Tool, ToolFailure } from "./tool.ts";
import { type Entry, walk } from "./walk.ts";

const parameters = z.object({
  pattern: z.string().min(1).describe("Glob, e.g. '*.ts' (names at any depth), 'src/**/*.test.ts' (paths below path)"),
  path: z.string().optional().describe("Folder to search; default the working directory"),
  limit: z.number().optional().describe("Results at most; default 1000"),
});

const LIMIT = 1_000;
const BUDGET_MS = 60_000;

/** Finds files and folders by their names. */
export const find: Tool<z.infer<typeof parameters>> = {
  name: "find",
  description: prose.trim(),
  snippet: "Find files by name (glob)",
  parameters: () => parameters,
  prepare: (args) => tidy(args, parameters),
  async run({ pattern, path: input, limit }, { cwd, signal }) {
    const { path, stats } = await resolveExisting(input || ".", cwd);
    const shown = showPath(path, cwd);
    if (!stats.isDirectory()) throw new ToolFailure(`${shown} is not a folder. Give the folder to search as path.`);
    const matches = nameMatcher(pattern, path);
    const most = Math.max(1, Math.floor(limit ?? LIMIT));
    const pace = new Pace(signal, BUDGET_MS);
    const list = new ResultList();
    let found = 0;
    search: for await (const entries of walk(path, pace)) {
      if (pace.isOver) break;
      for (const entry of entries) {
        if (!matches(entry)) continue;
        if (found++ === most || !list.add(entry.kind === "folder" ? `${entry.path}/` : entry.path)) break search;
      }
    }
    const isMore = found > most;
    return list.result({
      nothing: `Nothing in ${shown} matches ${pattern}${pattern.includes("/") && !pattern.startsWith("**") ? ` (from ${shown} on; **/${pattern} looks at any depth)` : ""}. What git ignores is not looked at.`,
      notes: [
        found > 0 && shown !== "." && `Paths are below ${shown}.`,
        isMore && `The first ${most} only; give a greater limit or a narrower pattern for more.`,
        pace.isOver && `Stopped after ${BUDGET_MS / 1000} s; search a smaller folder for the rest.`,
      ],
      details: isMore ? { resultLimitReached: most } : {},
    });
  },
};

/** A pattern without `/` is held against names, one with it against paths. Without capitals, case does not matter. */
function nameMatcher(given: string, root: string): (entry: Entry) => boolean {
  const below = isAbsolute(given) ? slashed(relative(root, given)) : given;
  if (below === ".." || below.startsWith("../")) throw new ToolFailure(`The pattern ${given} leads out of the folder that is searched; give that place as path.`);
  const foldersOnly = below.endsWith("/");
  const pattern = below.replace(/^(?:\.\/)+/, "").replace(/\/+$/, "");
  const ignoreCase = pattern === pattern.toLowerCase();
  const glob = new Bun.Glob(pattern);
  const isPath = pattern.includes("/") || pattern.startsWith("**");
  return ({ path, name, kind }) => {
    if (foldersOnly && kind !== "folder") return false;
    const subject = isPath ? path : name;
    return glob.match(ignoreCase ? subject.toLowerCase() : subject);
  };
}
