import { describeMiss, describeSeveral, linesAt } from "./edit-miss.ts";
import { fold, type Folded, hasCrOnly, type Tolerance, unfold } from "./fold.ts";
import { ToolFailure } from "./tool.ts";

export interface Edit {
  oldText: string;
  newText: string;
}

/** `text` in place of `[start, end)` of the original. */
export interface Replacement {
  start: number;
  end: number;
  text: string;
}

export interface Matched {
  /** In order, none overlapping another. */
  replacements: Replacement[];
  /** Of each edit in the order given: what had to be overlooked for it to match. */
  tolerances: (Tolerance | "exact")[];
}

/**
 * Finds where each edit applies. All are matched against the same original, exactly where that can be,
 * else overlooking line endings, then blanks at the ends of lines, then look-alike characters. Each must
 * match one place only. Throws a ToolFailure that says which does not and what is there instead.
 */
export function matchEdits(original: string, edits: readonly Edit[]): Matched {
  const finder = new Finder(original);
  const found = edits.map((edit, index) => ({ index, edit, ...finder.find(edit, edits.length > 1 ? `edits[${index}]` : "oldText") }));
  const inOrder = [...found].sort((a, b) => a.start - b.start || a.end - b.end);
  inOrder.forEach((one, at) => {
    const before = inOrder[at - 1];
    if (before && one.start < before.end) {
      throw new ToolFailure(`edits[${before.index}] and edits[${one.index}] overlap (both change line ${linesAt(original, [one.start])[0]}). Join them into one edit. Nothing was changed.`);
    }
  });
  const replacements = inOrder.map(({ edit, start, end }) => replacementOf(original, edit, start, end, finder.crOnly));
  return { replacements, tolerances: found.map(({ tolerance }) => tolerance) };
}

/** The text with replacements made, which are in order and do not overlap. */
export function applyReplacements(original: string, replacements: readonly Replacement[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, text } of replacements) {
    parts.push(original.slice(at, start), text);
    at = end;
  }
  parts.push(original.slice(at));
  return parts.join("");
}

class Finder {
  readonly crOnly: boolean;
  readonly #folded = new Map<Tolerance, Folded>();

  constructor(readonly original: string) {
    this.crOnly = hasCrOnly(original);
  }

  find({ oldText, newText }: Edit, name: string): { start: number; end: number; tolerance: Tolerance | "exact" } {
    for (const tolerance of ["endings", "blanks", "looks"] as const) {
      const places = this.#places(oldText, tolerance);
      const exact = places.filter(({ start, end }) => this.original.slice(start, end) === oldText);
      if (exact.length === 1) return { ...exact[0]!, tolerance: "exact" };
      if (places.length === 1) return { ...places[0]!, tolerance };
      if (places.length > 1) throw new ToolFailure(describeSeveral(name, this.original, places.map(({ start }) => start)));
    }
    throw new ToolFailure(describeMiss(this.original, { oldText, newText }, name));
  }

  #places(oldText: string, tolerance: Tolerance): { start: number; end: number }[] {
    const needle = fold(oldText, tolerance, this.crOnly).text;
    if (needle === "") return [];
    // Where blanks were cut from the end of what is looked for, its place must be the end of a line.
    const mustEndLine = tolerance !== "endings" && /[\t\u0020\u00a0\u2000-\u200a\u202f\u205f\u3000]$/.test(oldText);
    const folded = this.#fold(tolerance);
    const places: { start: number; end: number }[] = [];
    for (let at = folded.text.indexOf(needle); at !== -1 && places.length < 1_000; at = folded.text.indexOf(needle, at + 1)) {
      const end = at + needle.length;
      if (mustEndLine && end < folded.text.length && folded.text.charCodeAt(end) !== 10) continue;
      places.push(unfold(this.original, folded, at, end));
    }
    return places;
  }

  #fold(tolerance: Tolerance): Folded {
    let folded = this.#folded.get(tolerance);
    if (!folded) this.#folded.set(tolerance, (folded = fold(this.original, tolerance, this.crOnly)));
    return folded;
  }
}

/**
 * Lines that an edit repeats unchanged at its beginning and end keep their own bytes, and new lines end
 * as the lines do that they replace.
 */
function replacementOf(original: string, edit: Edit, start: number, end: number, crOnly: boolean): Replacement {
  const oldLines = linesOf(edit.oldText, crOnly);
  const newLines = linesOf(edit.newText, crOnly);
  const most = Math.min(oldLines.length, newLines.length);
  let first = 0;
  while (first < most - 1 && oldLines[first] === newLines[first]) first++;
  let last = 0;
  while (last < most - first && oldLines[oldLines.length - 1 - last] === newLines[newLines.length - 1 - last]) last++;

  const { starts, endings } = linesWithin(original, start, end, crOnly);
  const replaced = oldLines.length - last;
  const texts = newLines.slice(first, newLines.length - last);
  const usual = endings[0] ?? endingAt(original, start, crOnly);
  const ending = (index: number) => endings[Math.min(first + index, replaced - 1)] ?? usual;
  const isOpen = last === 0;
  return {
    start: starts[first]!,
    end: isOpen ? end : starts[replaced]!,
    text: texts.map((line, index) => (isOpen && index === texts.length - 1 ? line : line + ending(index))).join(""),
  };
}

function linesOf(text: string, crOnly: boolean): string[] {
  return text.split(crOnly ? /\r\n|\n|\r/ : /\r?\n/);
}

function linesWithin(text: string, start: number, end: number, crOnly: boolean): { starts: number[]; endings: string[] } {
  const starts = [start];
  const endings: string[] = [];
  for (const { 0: ending, index } of text.slice(start, end).matchAll(crOnly ? /\r/g : /\r?\n/g)) {
    endings.push(ending);
    starts.push(start + index + ending.length);
  }
  return { starts, endings };
}

/** How the line ends that holds a place, else the one before it. */
function endingAt(text: string, place: number, crOnly: boolean): string {
  if (crOnly) return "\r";
  let feed = text.indexOf("\n", place);
  if (feed === -1) feed = text.lastIndexOf("\n", place);
  return feed > 0 && text[feed - 1] === "\r" ? "\r\n" : "\n";
}
