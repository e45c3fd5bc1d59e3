import { LinearRegex } from "./linear-regex.ts";
import { type Node, parseRegex, Unsupported } from "./regex-parse.ts";
import { ToolFailure } from "./tool.ts";

/** Says whether a line matches, in bounded time. */
export interface LineMatcher {
  /** A place in or at the edge of a match, or -1. */
  find(line: string): number;
  /** Every line that matches holds these bytes. */
  needle?: Buffer;
}

/** As many steps a backtracking search may need for one line (some milliseconds); else the line is matched in linear time. */
const BACKTRACK_STEPS = 1_000_000;
const MAX_OPTIONS = 8;
/** Where there is no other way than backtracking, only so much of a line is looked at. */
const BACKTRACK_CHARS = 2_000;

/**
 * A matcher for a pattern as models write it. Throws a ToolFailure that says what is wrong with the pattern,
 * or that it could run for ever.
 */
export function lineMatcher(pattern: string, o: { literal: boolean; ignoreCase: boolean }): LineMatcher {
  if (o.literal && !o.ignoreCase) return { find: (line) => line.indexOf(pattern), needle: Buffer.from(pattern) };
  const inline = !o.literal && pattern.startsWith("(?i)");
  const ignoreCase = o.ignoreCase || inline;
  const source = o.literal ? pattern.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&") : posixClasses(inline ? pattern.slice(4) : pattern);
  const flags = (ignoreCase ? "i" : "") + (/\\(?:[pP]|u)\{/.test(source) ? "u" : "");
  const regex = compiled(source, flags);
  const tree = parsed(source, flags.includes("u"));
  if (tree instanceof Unsupported) {
    if (isHeavy(source)) throw new ToolFailure(`This pattern uses ${tree.message} together with repetition and could search for ever. Write it without ${tree.message}, or use bash with another program.`);
    return { find: (line) => line.slice(0, BACKTRACK_CHARS).search(regex) };
  }
  const needle = ignoreCase ? undefined : needleOf(tree);
  const linear = linearOf(tree, flags);
  const shortLine = options(tree) > MAX_OPTIONS ? 0 : BACKTRACK_STEPS ** (1 / (degree(tree) + 1));
  const find = (line: string) => (line.length <= shortLine ? line.search(regex) : linear().matchEnd(line));
  return needle === undefined ? { find } : { find, needle };
}

function compiled(source: string, flags: string): RegExp {
  try {
    return new RegExp(source, flags);
  } catch (error) {
    const why = (error as Error).message.replace(/^Invalid regular expression: /, "");
    throw new ToolFailure(`The pattern is no valid regular expression: ${why}. Escape special characters with \\, or give literal=true to search for the text as it is.`);
  }
}

function parsed(source: string, isUnicode: boolean): Node | Unsupported {
  try {
    return parseRegex(source, isUnicode);
  } catch (error) {
    if (error instanceof Unsupported) return error;
    throw error;
  }
}

function linearOf(tree: Node, flags: string): () => LinearRegex {
  let linear: LinearRegex | undefined;
  return () => {
    try {
      return (linear ??= new LinearRegex(tree, flags));
    } catch (error) {
      if (error instanceof Unsupported) throw new ToolFailure(`The pattern has ${error.message} that it could search for ever; make it simpler.`);
      throw error;
    }
  };
}

/** With which power of the length of a line the steps of a backtracking search can grow, less the one for trying each place; Infinity: exponentially. */
function degree(node: Node): number {
  if (node.kind === "one" || node.kind === "assert") return 0;
  if (node.kind !== "repeat") return node.nodes.reduce((sum, one) => sum + degree(one), 0);
  if (node.max === 1) return degree(node.node);
  if (node.node.kind === "one") return node.min === node.max ? 0 : 1;
  return isFixed(node.node) ? 1 : Infinity;
}

/** The parts that may be left out; each doubles the ways there are, however short the line is. */
function options(node: Node): number {
  if (node.kind === "all" || node.kind === "any") return node.nodes.reduce((sum, one) => sum + options(one), 0);
  return node.kind === "repeat" ? options(node.node) + (node.max === 1 && node.min === 0 ? 1 : 0) : 0;
}

/** There is but one way to match it. */
function isFixed(node: Node): boolean {
  if (node.kind === "any") return false;
  if (node.kind === "all") return node.nodes.every(isFixed);
  return node.kind !== "repeat" || (node.min === node.max && isFixed(node.node));
}

/** For patterns that cannot be parsed here: more than one repetition may already be too much. */
function isHeavy(source: string): boolean {
  const plain = source.replace(/\\./gs, "").replace(/\[[^\]]*\]/g, "");
  return (plain.match(/[*+{]/g) ?? []).length + (/\\[1-9]|\\k</.test(source) ? 1 : 0) > 1 || (plain.match(/(?<!\()\?/g) ?? []).length > 6;
}

/** The longest text that every match must hold. */
function needleOf(tree: Node): Buffer | undefined {
  let best = "";
  let run = "";
  const visit = (node: Node) => {
    if (node.kind === "one" && node.char !== undefined) {
      run += node.char;
      if (run.length > best.length) best = run;
    } else if (node.kind === "all") node.nodes.forEach(visit);
    else if (node.kind !== "assert") run = "";
  };
  visit(tree);
  // Half a character has no bytes of its own.
  return best.length > 1 && best.isWellFormed() ? Buffer.from(best) : undefined;
}

const POSIX: Record<string, string> = { alpha: "a-zA-Z", digit: "0-9", alnum: "a-zA-Z0-9", upper: "A-Z", lower: "a-z", space: "\\s", blank: " \\t", punct: "!-\\/:-@\\[-`{-~", xdigit: "0-9a-fA-F", word: "\\w" };

/** `[[:alpha:]]` and the like, which other regular expressions know. */
function posixClasses(source: string): string {
  return source.replace(/\[(\^?(?:\[:\w+:\]|\\.|[^\]\\])*)\]/gs, (set, inner: string) => (inner.includes("[:") ? `[${inner.replace(/\[:(\w+):\]/g, (name, word: string) => POSIX[word] ?? name)}]` : set));
}
