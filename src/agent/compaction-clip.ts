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
  const head = border(text, Math.ceil(maxChars * 0.75));
  const tail = border(text, text.length - Math.floor(maxChars * 0.25));
  return `${text.slice(0, head)}\n[… ${tail - head} characters left out …]\n${text.slice(tail)}`;
}

/** An index that does not part a surrogate pair. */
function border(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff ? at - 1 : at;
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
  let head = 0;
  let left = maxTokens - MARKER_TOKENS;
  for (let share = Math.floor(left / 4); head < clipped.length && sizes[head]! <= share; head += 1) {
    share -= sizes[head]!;
    left -= sizes[head]!;
  }
  let tail = clipped.length;
  for (; tail > head && sizes[tail - 1]! <= left; tail -= 1) left -= sizes[tail - 1]!;
  const marker = tail > head ? [`[… ${tail - head} messages left out …]`] : [];
  return [...clipped.slice(0, head), ...marker, ...clipped.slice(tail)].join("\n\n");
}
