import { basename } from "node:path";
import { z } from "zod";
import { head, tail } from "../base/text.ts";
import { type Line, linesOf, matchingLines } from "./grep-file.ts";
import prose from "./grep.md" with { type: "text" };
import { BLOCK_BYTES } from "./line-blocks.ts";
import { lineMatcher } from "./line-matcher.ts";
import { Pace } from "./pace.ts";
import { kindOf, resolveExisting, showPath } from "./path.ts";
import { ResultList } from "./result-list.ts";
import { tidy } from "./tidy.ts";
import { type Tool, ToolFailure } from "./tool.ts";
import { walk } from "./walk.ts";

const parameters = z.object({
  pattern: z.string().min(1).describe("Regular expression (JavaScript), or text with literal"),
  path: z.string().optional().describe("File or folder to search; default the working directory"),
  glob: z.string().optional().describe("Only files whose name, or with a slash whose path below path, fits, e.g. '*.ts' or 'src/**/*.ts'"),
  ignoreCase: z.boolean().optional().describe("Upper and lower case are the same"),
  literal: z.boolean().optional().describe("The pattern is plain text, not a regular expression"),
  context: z.number().optional().describe("Lines to show before and after each match"),
  limit: z.number().optional().describe("Matching lines at most; default 100"),
});

const LIMIT = 100;
const MAX_CONTEXT = 100;
const LINE_CHARS = 500;
const BUDGET_MS = 60_000;

/** Finds lines in files. */
export const grep: Tool<z.infer<typeof parameters>> = {
  name: "grep",
  description: prose.trim(),
  snippet: "Search the contents of files",
  parameters: () => parameters,
  prepare: (args) => tidy(args, parameters),
  async run(args, { cwd, signal }) {
    const { path, stats } = await resolveExisting(args.path || ".", cwd);
    const shown = showPath(path, cwd);
    const isFolder = stats.isDirectory();
    if (!isFolder && !stats.isFile()) throw new ToolFailure(`${shown} is ${kindOf(stats)}, not a file or folder.`);
    const matcher = lineMatcher(args.pattern, { literal: args.literal ?? false, ignoreCase: args.ignoreCase ?? false });
    const most = Math.max(1, Math.floor(args.limit ?? LIMIT));
    const context = Math.min(MAX_CONTEXT, Math.max(0, Math.floor(args.context ?? 0)));
    const pace = new Pace(signal, BUDGET_MS);
    const buffer = Buffer.allocUnsafe(BLOCK_BYTES);
    const list = new ResultList();
    let found = 0;
    let isClipped = false;

    search: for await (const file of isFolder ? filesBelow(path, args.glob, pace) : [{ name: shown, path }]) {
      const matches: Line[] = [];
      for (const line of matchingLines(file.path, matcher, buffer)) {
        if (line && found++ < most) matches.push(line);
        if (found > most || pace.isOver) break;
        if (pace.isDue) await pace.rest();
      }
      for (const { number, text, at } of context > 0 ? withContext(matches, context, file.path, buffer) : matches) {
        isClipped ||= text.length > LINE_CHARS;
        const sign = at === -1 ? "-" : ":";
        if (!list.add(`${file.name}${sign}${number}${sign} ${clipAround(text, at)}`)) break search;
      }
      if (found > most || pace.isOver) break;
      if (pace.isDue) await pace.rest();
    }
    const isMore = found > most;
    return list.result({
      nothing: `No line matches ${args.pattern}${isFolder ? ` in the files of ${shown}${args.glob ? ` that fit ${args.glob}` : ""}` : ` in ${shown}`}.${hint(args.pattern, args.literal, isFolder)}`,
      notes: [
        found > 0 && isFolder && shown !== "." && `Paths are below ${shown}.`,
        isMore && `The first ${most} matches only; give a greater limit or a narrower pattern for more.`,
        isClipped && `Lines longer than ${LINE_CHARS} characters are cut; read shows them whole.`,
        pace.isOver && `Stopped after ${BUDGET_MS / 1000} s; search a smaller folder for the rest.`,
      ],
      details: { ...(isMore && { matchLimitReached: most }), ...(isClipped && { linesTruncated: true }) },
    });
  },
};

async function* filesBelow(root: string, glob: string | undefined, pace: Pace): AsyncGenerator<{ name: string; path: string }, void> {
  const filter = glob ? fileFilter(glob) : undefined;
  for await (const entries of walk(root, pace)) {
    for (const { path, kind } of entries) if (kind === "file" && (!filter || filter(path))) yield { name: path, path: `${root}/${path}` };
  }
}

function fileFilter(given: string): (path: string) => boolean {
  const isExcluding = given.startsWith("!");
  const pattern = (isExcluding ? given.slice(1) : given).replace(/^(?:\.?\/)+/, "");
  const glob = new Bun.Glob(pattern);
  const isPath = pattern.includes("/");
  return (path) => glob.match(isPath ? path : basename(path)) !== isExcluding;
}

/** The matches with the lines around them, each line once. */
function* withContext(matches: readonly Line[], context: number, path: string, buffer: Buffer): Generator<Line, void> {
  const known = new Map(matches.map((line) => [line.number, line]));
  const wanted: number[] = [];
  for (const { number } of matches) {
    for (let at = Math.max(1, number - context, (wanted.at(-1) ?? 0) + 1); at <= number + context; at++) wanted.push(at);
  }
  for (const line of linesOf(path, wanted, buffer)) yield known.get(line.number) ?? line;
}

/** A long line is shown around its match. */
function clipAround(text: string, at: number): string {
  if (text.length <= LINE_CHARS) return text;
  const start = Math.max(0, Math.min(at - LINE_CHARS / 2, text.length - LINE_CHARS));
  return `${start > 0 ? "…" : ""}${tail(head(text, start + LINE_CHARS), LINE_CHARS)}${start + LINE_CHARS < text.length ? "…" : ""}`;
}

function hint(pattern: string, literal: boolean | undefined, isFolder: boolean): string {
  const lines = (literal ? pattern.includes("\n") : /\n|\\n/.test(pattern)) ? " It is held against one line at a time, so a line break in it never matches." : "";
  return `${lines}${isFolder ? " What git ignores, and binary files, are not searched." : ""}`;
}
