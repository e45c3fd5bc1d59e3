import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { statOf } from "./path.ts";

interface Rule {
  isNegated: boolean;
  foldersOnly: boolean;
  matches(path: string, name: string): boolean;
}

/** Longer files of rules are no files of rules. */
const MAX_RULES_BYTES = 1024 * 1024;

/** The .gitignore rules that hold in one folder: its own, and below them those of the folders above. */
export class IgnoreRules {
  readonly #rules: Rule[];

  constructor(
    /** Absolute, with `/`. */
    readonly folder: string,
    readonly above: IgnoreRules | undefined,
    text: string,
  ) {
    this.#rules = text.split("\n").map(parseRule).filter((rule) => rule !== undefined).reverse();
  }

  /** With those of a file added, if it can be read. */
  static add(above: IgnoreRules | undefined, folder: string, file: string): IgnoreRules | undefined {
    try {
      const text = readFileSync(file);
      return text.length > MAX_RULES_BYTES ? above : new IgnoreRules(folder, above, text.toString());
    } catch {
      // A file of rules that is not there or cannot be read has none, as for git.
      return above;
    }
  }

  /** The last rule that matches decides, and those of a deeper folder come last. `path` is absolute, with `/`. */
  ignores(path: string, name: string, isFolder: boolean): boolean {
    for (let rules: IgnoreRules | undefined = this; rules; rules = rules.above) {
      const inside = path.slice(rules.folder.length + (rules.folder.endsWith("/") ? 0 : 1));
      for (const rule of rules.#rules) {
        if ((!rule.foldersOnly || isFolder) && rule.matches(inside, name)) return !rule.isNegated;
      }
    }
    return false;
  }
}

/** The rules that the repository around a folder has for it, without those in the folder itself. */
export async function rulesAbove(folder: string): Promise<IgnoreRules | undefined> {
  const folders: string[] = [];
  for (let at = folder; ; at = dirname(at)) {
    folders.unshift(at);
    if (await statOf(join(at, ".git"))) break;
    if (dirname(at) === at) return undefined;
  }
  const root = folders[0]!;
  let rules = IgnoreRules.add(undefined, slashed(root), join(root, ".git", "info", "exclude"));
  for (const at of folders.slice(0, -1)) rules = IgnoreRules.add(rules, slashed(at), join(at, ".gitignore"));
  return rules;
}

/** A path of this system with `/` between its parts. */
export function slashed(path: string): string {
  return process.platform === "win32" ? path.replaceAll("\\", "/") : path;
}

function parseRule(line: string): Rule | undefined {
  let pattern = line.replace(/\r$/, "").replace(/((?:^|[^\\])(?:\\\\)*) +$/, "$1");
  if (pattern.startsWith("#")) return undefined;
  const isNegated = pattern.startsWith("!");
  if (isNegated) pattern = pattern.slice(1);
  const foldersOnly = pattern.endsWith("/");
  if (foldersOnly) pattern = pattern.slice(0, -1);
  if (pattern === "") return undefined;
  return { isNegated, foldersOnly, matches: matcherOf(pattern) };
}

function matcherOf(pattern: string): Rule["matches"] {
  if (pattern.includes("/")) {
    const regex = globRegex(pattern.replace(/^\//, ""));
    return (path) => regex.test(path);
  }
  // The two commonest kinds need no regular expression.
  if (!/[*?[\\]/.test(pattern)) return (_, name) => name === pattern;
  if (/^\*[^*?[\\]+$/.test(pattern)) return (_, name) => name.endsWith(pattern.slice(1));
  const regex = globRegex(pattern);
  return (_, name) => regex.test(basename(name));
}

const CLASSES: Record<string, string> = {
  alnum: "a-zA-Z0-9", alpha: "a-zA-Z", blank: " \\t", cntrl: "\\x00-\\x1f\\x7f", digit: "0-9", graph: "\\x21-\\x7e", lower: "a-z",
  print: "\\x20-\\x7e", punct: "!-\\/:-@\\[-`{-~", space: "\\s", upper: "A-Z", xdigit: "0-9a-fA-F",
};

/** A pattern of git, matched against a whole path. A malformed one matches nothing, as in git. */
function globRegex(pattern: string): RegExp {
  let source = "";
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at]!;
    if (char === "*") {
      let end = at;
      while (pattern[end] === "*") end++;
      const isPart = end - at >= 2 && (at === 0 || pattern[at - 1] === "/") && (end === pattern.length || pattern[end] === "/");
      if (!isPart) source += "[^/]*";
      else if (end === pattern.length) source += at === 0 ? ".*" : ".+";
      else source += "(?:.*/)?";
      at = isPart && end < pattern.length ? end : end - 1;
    } else if (char === "?") source += "[^/]";
    else if (char === "[") {
      const set = bracket(pattern, at);
      if (!set) return /[^\s\S]/;
      source += set.source;
      at = set.end;
    } else if (char === "\\") {
      if (at + 1 === pattern.length) return /[^\s\S]/;
      source += escaped(pattern[++at]!);
    } else source += escaped(char);
  }
  try {
    return new RegExp(`^${source}$`, "s");
  } catch {
    return /[^\s\S]/;
  }
}

function bracket(pattern: string, start: number): { source: string; end: number } | undefined {
  let at = start + 1;
  const isNegated = pattern[at] === "!" || pattern[at] === "^";
  if (isNegated) at++;
  let set = "";
  for (let isFirst = true; at < pattern.length; at++, isFirst = false) {
    const char = pattern[at]!;
    if (char === "]" && !isFirst) return { source: `(?!/)[${isNegated ? "^" : ""}${set}]`, end: at };
    const named = char === "[" ? /^\[:([a-z]+):\]/.exec(pattern.slice(at)) : undefined;
    if (named) {
      const known = CLASSES[named[1]!];
      if (known === undefined) return undefined;
      set += known;
      at += named[0].length - 1;
    } else if (char === "\\") set += `\\${pattern[++at] ?? ""}`.replace(/\\([a-zA-Z0-9])/, "$1");
    else set += char === "-" ? "-" : escaped(char);
  }
  return undefined;
}

function escaped(char: string): string {
  return char.replace(/[\\^$.*+?()[\]{}|/-]/, "\\$&");
}
