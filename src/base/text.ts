/** Texts for people. Lengths are UTF-16 units, and a cut never leaves half a character. */

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

/** What an error says, for people; anything may be thrown. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A length of time for people: `45 s`, `5 min`, `5 h`, `3 days`. */
export function durationWords(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 6) / 10;
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}

/** A size for people: `1 byte`, `512 bytes`, `50 KB`, `1.3 MB`. */
export function sizeWords(bytes: number): string {
  if (bytes < 1024) return countWords(bytes, "byte");
  const [size, unit] = bytes < 1024 ** 2 ? [bytes / 1024, "KB"] : bytes < 1024 ** 3 ? [bytes / 1024 ** 2, "MB"] : [bytes / 1024 ** 3, "GB"];
  return `${Number(size.toFixed(1))} ${unit}`;
}

/** `1 line`, `3 lines`. */
export function countWords(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
