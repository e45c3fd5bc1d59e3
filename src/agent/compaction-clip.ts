import { head, tail } from "../base/text.ts";
import { estimateText } from "./compaction-estimate.ts";

/** Tokens that a marker takes at most. */
const MARKER_TOKENS = 20;

/** A text of at most `maxTokens` (by estimate): its beginning and its end, with a marker for what was left out. */
export function clip(text: string, maxTokens: number): string {
  if (estimateText(text) <= maxTokens) return text;
  // Where scripts mix, a share of the characters is not the same share of the tokens; so it is measured again.
  for (let chars = Math.floor((text.length * maxTokens) / estimateText(text)); chars > 0; chars = Math.floor(chars * 0.8) - 8) {
    const clipped = clipChars(text, chars);
    if (estimateText(clipped) <= maxTokens) return clipped;
  }
  return "";
}

/** A text of about `maxChars` UTF-16 units beside the marker, three quarters of them from its beginning. */
export function clipChars(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const first = head(text, Math.ceil(maxChars * 0.75));
  const last = tail(text, Math.floor(maxChars * 0.25));
  return `${first}\n[… ${text.length - first.length - last.length} characters left out …]\n${last}`;
}

/**
 * Joins pieces to a text of at most `maxTokens`. When they are too much together, long ones are clipped first; when
 * that is not enough, pieces in the middle are left out: the first say what it is all about, the last where it stands.
 */
export function joinWithin(pieces: readonly string[], maxTokens: number): string {
  const joined = pieces.join("\n\n");
  if (estimateText(joined) <= maxTokens) return joined;
  const clipped = pieces.map((piece) => clip(piece, Math.floor(maxTokens / 8)));
  const sizes = clipped.map((piece) => estimateText(`${piece}\n\n`));
  let first = 0;
  let left = maxTokens - MARKER_TOKENS;
  for (let share = Math.floor(left / 4); first < clipped.length && sizes[first]! <= share; first += 1) {
    share -= sizes[first]!;
    left -= sizes[first]!;
  }
  let last = clipped.length;
  for (; last > first && sizes[last - 1]! <= left; last -= 1) left -= sizes[last - 1]!;
  const marker = last > first ? [`[… ${last - first} messages left out …]`] : [];
  return [...clipped.slice(0, first), ...marker, ...clipped.slice(last)].join("\n\n");
}
