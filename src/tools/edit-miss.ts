import { fold } from "./fold.ts";
import { clipLine } from "./limits.ts";

const SHOWN_LINES = 12;
/** Looking for likeness costs some microseconds a line. */
const COMPARED_LINES = 20_000;

/** Says that a text stands at several places. */
export function describeSeveral(name: string, original: string, places: readonly number[]): string {
  const apart = [...new Set(linesAt(original, places))];
  const shown = apart.length > 10 ? `${apart.slice(0, 10).join(", ")} and more` : apart.join(", ");
  const times = places.length >= 1_000 ? "1000 times or more" : `${places.length} times`;
  return `${name} matches ${times} (line ${shown}); it must match one place. Add lines before or after it until it does. Nothing was changed.`;
}

/** The lines, from 1, of places in order. */
export function linesAt(text: string, places: readonly number[]): number[] {
  let line = 1;
  let feed = text.indexOf("\n");
  return places.map((place) => {
    for (; feed !== -1 && feed < place; feed = text.indexOf("\n", feed + 1)) line++;
    return line;
  });
}

/** Says that a text is not in the file and shows what comes nearest, with line numbers. */
export function describeMiss(original: string, { oldText, newText }: { oldText: string; newText: string }, name: string): string {
  const lines = original.split(/\r?\n/);
  // A short text may stand there by chance.
  const done = newText.trim().length < 12 ? -1 : original.indexOf(newText);
  const already = done === -1 ? "" : ` The file already holds the new text, at line ${original.slice(0, done).split("\n").length}.`;
  const wanted = trimBlankLines(oldText.split(/\r?\n/));
  const near = wanted.length > 0 ? nearestLine(lines, wanted) : undefined;
  if (near === undefined) return `${name} was not found, nor anything like it.${already} Read the file again before you edit it. Nothing was changed.`;
  const end = Math.min(lines.length, near + Math.min(wanted.length, SHOWN_LINES));
  const shown = lines.slice(near, end).map((line, index) => `${near + index + 1}: ${clipLine(line, 300)}`);
  return `${name} was not found.${already} Nearest in the file${firstDifference(lines, wanted, near)}:\n\n${shown.join("\n")}\n\nCopy oldText from the file, without the line numbers. Nothing was changed.`;
}

function firstDifference(lines: readonly string[], wanted: readonly string[], near: number): string {
  const at = wanted.findIndex((line, index) => lines[near + index] !== line);
  if (at === -1) return "";
  const mine = wanted[at]!;
  const theirs = lines[near + at];
  if (theirs !== undefined && mine.trim() === theirs.trim() && mine.trim() !== "") return ` (line ${near + at + 1} is indented otherwise)`;
  return ` (line ${near + at + 1} differs; you gave ${JSON.stringify(clipLine(mine, 200))})`;
}

function trimBlankLines(lines: string[]): string[] {
  let start = 0;
  let end = lines.length;
  while (start < end && lines[start]!.trim() === "") start++;
  while (end > start && lines[end - 1]!.trim() === "") end--;
  return lines.slice(start, end);
}

/** The line, from 0, at which most of the wanted lines stand in place; else the one most like the longest of them. */
function nearestLine(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const keys = new Map<string, number[]>();
  wanted.forEach((line, index) => {
    const key = keyOf(line);
    if (key.length > 2) keys.set(key, [...(keys.get(key) ?? []), index]);
  });
  const votes = new Map<number, number>();
  lines.forEach((line, at) => {
    const indices = line.length < 1_000 ? keys.get(keyOf(line)) : undefined;
    // A longer line is better evidence than a brace.
    for (const index of indices ?? []) if (at >= index) votes.set(at - index, (votes.get(at - index) ?? 0) + 1 + line.length / 100);
  });
  let best: number | undefined;
  for (const [at, vote] of votes) if (best === undefined || vote > votes.get(best)!) best = at;
  return best ?? mostAlike(lines, wanted);
}

function mostAlike(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const index = wanted.reduce((best, line, at) => (line.trim().length > wanted[best]!.trim().length ? at : best), 0);
  const goal = pairs(keyOf(wanted[index]!));
  let best: { at: number; score: number } | undefined;
  lines.slice(0, COMPARED_LINES).forEach((line, at) => {
    const score = likeness(goal, keyOf(line.slice(0, 300)));
    if (score > (best?.score ?? 0.4)) best = { at, score };
  });
  return best && Math.max(0, best.at - index);
}

/** A line without what people and models vary: case, blanks, typographic characters. */
function keyOf(line: string): string {
  const plain = /[^\x00-\x7f]/.test(line) ? fold(line, "looks", false).text : line;
  return plain.replace(/\s+/g, "").toLowerCase();
}

function pairs(text: string): Set<string> {
  const result = new Set<string>();
  for (let at = 0; at + 1 < Math.min(text.length, 300); at++) result.add(text.slice(at, at + 2));
  return result;
}

/** From 0 to 1: the share of neighbouring characters that both have. */
function likeness(goal: ReadonlySet<string>, text: string): number {
  // Most lines are so much shorter or longer that they need not be taken apart.
  if (goal.size === 0 || text.length < goal.size / 4 || text.length > goal.size * 4 + 20) return 0;
  const other = pairs(text);
  let both = 0;
  for (const pair of other) if (goal.has(pair)) both++;
  return (2 * both) / (goal.size + other.size);
}
