import { applyReplacements, type Replacement } from "./edit-match.ts";
import { clipLine } from "./limits.ts";

export interface EditDiff {
  /** Lines `-12 old`, `+12 new`, ` 12 unchanged`, with numbers of the old file (`+`: of the new) and ` ...` between the places. */
  diff: string;
  /** In the new file, from 1. */
  firstChangedLine: number;
  /** The lines that each place has in the new file, first and last; last < first where lines only went. */
  changed: { first: number; last: number }[];
}

const CONTEXT_LINES = 3;
const MAX_DIFF_LINES = 300;
/** Cells of the table that finds what two blocks have in common; larger blocks are shown whole. */
const MAX_CELLS = 250_000;

/** What replacements (in order, not overlapping) do to a text, line by line; costs what they do, not what the text is long. */
export function diffOf(original: string, replacements: readonly Replacement[]): EditDiff {
  const separator = original.includes("\n") ? "\n" : "\r";
  const lines = original.split(separator);
  const starts = startsOf(lines);
  const out: string[] = [];
  const changed: EditDiff["changed"] = [];
  const width = String(lines.length).length;
  const skip = `${" ".repeat(width + 1)} ...`;
  const put = (sign: string, number: number, line: string) => {
    // Behind the last line end stands nothing that could be shown.
    if (sign === " " && line === "" && number === lines.length) return;
    out.push(`${sign}${String(number).padStart(width)} ${clipLine(line.replace(/\r$/, ""), 300)}`);
  };
  let shift = 0;
  let shown = 0;
  for (const group of groupsOf(starts, replacements)) {
    const oldLines = lines.slice(group.first, group.last + 1);
    const from = starts[group.first]!;
    const text = applyReplacements(original.slice(from, starts[group.last]! + lines[group.last]!.length), group.replacements.map((one) => ({ ...one, start: one.start - from, end: one.end - from })));
    const { same, steps } = compare(oldLines, text.split(separator));
    const first = group.first + same.before;
    const last = group.last - same.after;
    const before = Math.max(shown, first - CONTEXT_LINES);
    if (before > shown) out.push(skip);
    for (let at = before; at < first; at++) put(" ", at + 1, lines[at]!);
    let oldLine = first;
    let newLine = first + shift;
    for (const { sign, line } of steps) {
      if (sign !== " ") mark(changed, newLine + 1, sign === "+");
      put(sign, (sign === "+" ? newLine : oldLine) + 1, line);
      if (sign !== "+") oldLine++;
      if (sign !== "-") newLine++;
    }
    shift = newLine - oldLine;
    shown = Math.min(lines.length, last + 1 + CONTEXT_LINES, Math.max(last + 1, group.next));
    for (let at = last + 1; at < shown; at++) put(" ", at + 1, lines[at]!);
  }
  if (shown < lines.length && !(shown === lines.length - 1 && lines.at(-1) === "")) out.push(skip);
  if (out.length > MAX_DIFF_LINES) out.splice(MAX_DIFF_LINES, out.length, `${skip} (${out.length - MAX_DIFF_LINES} more lines)`);
  return { diff: out.join("\n"), firstChangedLine: changed[0]?.first ?? 1, changed };
}

function mark(changed: EditDiff["changed"], line: number, isAdded: boolean): void {
  const previous = changed.at(-1);
  const last = isAdded ? line : line - 1;
  if (previous && line <= previous.last + 1) previous.last = Math.max(previous.last, last);
  else if (!previous || line !== previous.first) changed.push({ first: line, last });
}

interface Group {
  /** Lines from 0, both included. */
  first: number;
  last: number;
  /** Where the next group begins. */
  next: number;
  replacements: Replacement[];
}

/** Replacements that share a line belong together. */
function groupsOf(starts: readonly number[], replacements: readonly Replacement[]): Group[] {
  const groups: Group[] = [];
  for (const replacement of replacements) {
    const first = lineOf(starts, replacement.start);
    const last = lineOf(starts, replacement.end);
    const group = groups.at(-1);
    if (group && first <= group.last) {
      group.last = last;
      group.replacements.push(replacement);
    } else {
      if (group) group.next = first;
      groups.push({ first, last, next: Infinity, replacements: [replacement] });
    }
  }
  return groups;
}

function startsOf(lines: readonly string[]): number[] {
  let at = 0;
  return lines.map((line) => {
    const start = at;
    at += line.length + 1;
    return start;
  });
}

function lineOf(starts: readonly number[], place: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}

type Step = { sign: " " | "-" | "+"; line: string };

/** The shortest way from the old lines to the new ones, and how many before and after it are the same. */
function compare(oldLines: readonly string[], newLines: readonly string[]): { same: { before: number; after: number }; steps: Step[] } {
  const most = Math.min(oldLines.length, newLines.length);
  let before = 0;
  while (before < most && oldLines[before] === newLines[before]) before++;
  let after = 0;
  while (after < most - before && oldLines[oldLines.length - 1 - after] === newLines[newLines.length - 1 - after]) after++;
  return { same: { before, after }, steps: between(oldLines.slice(before, oldLines.length - after), newLines.slice(before, newLines.length - after)) };
}

function between(a: readonly string[], b: readonly string[]): Step[] {
  const removed = a.map((line): Step => ({ sign: "-", line }));
  const added = b.map((line): Step => ({ sign: "+", line }));
  if (a.length === 0 || b.length === 0 || a.length * b.length > MAX_CELLS) return [...removed, ...added];
  const columns = b.length + 1;
  /** How many lines the rests of both from here have in common. */
  const common = new Uint32Array((a.length + 1) * columns);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * columns + j] = a[i] === b[j] ? common[(i + 1) * columns + j + 1]! + 1 : Math.max(common[(i + 1) * columns + j]!, common[i * columns + j + 1]!);
    }
  }
  const steps: Step[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      steps.push({ sign: " ", line: a[i++]! });
      j++;
    } else if (common[(i + 1) * columns + j]! >= common[i * columns + j + 1]!) steps.push(removed[i++]!);
    else steps.push(added[j++]!);
  }
  return [...steps, ...removed.slice(i), ...added.slice(j)];
}
