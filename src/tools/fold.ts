/** A text with differences that do not matter removed, and the way back to the places in the original. */
export interface Folded {
  text: string;
  /** Where each character of `text` stands in the original; left out where nothing was removed. */
  places?: Uint32Array;
}

/** How tolerant: only line endings, then also blanks at the ends of lines, then also characters that look the same. */
export type Tolerance = "endings" | "blanks" | "looks";

/** A lone CR ends a line only in files that have no LF (old Macs); elsewhere it is a character. */
export function hasCrOnly(text: string): boolean {
  return text.includes("\r") && !text.includes("\n");
}

/** Removes the differences that a tolerance overlooks. `crOnly`: see `hasCrOnly`. */
export function fold(text: string, tolerance: Tolerance, crOnly: boolean): Folded {
  if (tolerance === "endings" && !text.includes("\r")) return { text };
  const places = new Uint32Array(text.length);
  const units = new Uint16Array(text.length);
  let length = 0;
  /** Where the blanks at the end of what was written so far begin. */
  let blankStart = 0;
  for (let at = 0; at < text.length; at++) {
    let unit = text.charCodeAt(at);
    if (unit === 13 && (crOnly || text.charCodeAt(at + 1) === 10)) unit = 10;
    if (tolerance === "looks" && unit > 127) unit = plain(unit);
    if (unit === 10 && tolerance !== "endings") length = blankStart;
    units[length] = unit;
    places[length++] = at;
    if (unit === 10 || !isBlank(unit)) blankStart = length;
    if (text.charCodeAt(at) === 13 && unit === 10 && !crOnly) at++;
  }
  if (tolerance !== "endings") length = blankStart;
  return { text: decodeUnits(units, length), places: places.subarray(0, length) };
}

/** The range of the original that `[start, end)` of the folded text stands for, a CRLF never cut in two. */
export function unfold(original: string, folded: Folded, start: number, end: number): { start: number; end: number } {
  if (!folded.places) return { start, end };
  const last = folded.places[end - 1]!;
  const isPair = original.charCodeAt(last) === 13 && original.charCodeAt(last + 1) === 10 && folded.text.charCodeAt(end - 1) === 10;
  return { start: folded.places[start]!, end: last + (isPair ? 2 : 1) };
}

function isBlank(unit: number): boolean {
  return unit === 32 || unit === 9 || unit === 0xa0;
}

/** The ASCII character that people and models write for one that looks like it. */
function plain(unit: number): number {
  if ((unit >= 0x2018 && unit <= 0x201b) || unit === 0x2032) return 39;
  if ((unit >= 0x201c && unit <= 0x201f) || unit === 0x2033) return 34;
  if ((unit >= 0x2010 && unit <= 0x2015) || unit === 0x2212 || unit === 0xfe63 || unit === 0xff0d) return 45;
  if (unit === 0xa0 || (unit >= 0x2000 && unit <= 0x200a) || unit === 0x202f || unit === 0x205f || unit === 0x3000) return 32;
  return unit;
}

const decoder = new TextDecoder("utf-16le", { ignoreBOM: true });

function decodeUnits(units: Uint16Array, length: number): string {
  return decoder.decode(units.subarray(0, length));
}
