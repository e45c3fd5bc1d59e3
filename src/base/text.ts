/** Cutting texts. Lengths are UTF-16 units, and a cut never leaves half a character. */

/** The first `max` units of a text. */
export function head(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? max - 1 : max);
}

/** The last `max` units of a text. */
export function tail(text: string, max: number): string {
  if (text.length <= max) return text;
  const start = text.length - max;
  const first = text.charCodeAt(start);
  return text.slice(first >= 0xdc00 && first < 0xe000 ? start + 1 : start);
}

/** The text, or its first `max` units and an ellipsis. */
export function shorten(text: string, max: number): string {
  return text.length <= max ? text : `${head(text, max)}…`;
}
