/** Whether a value of JSON is an object, which a list is not. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** JSON in which half a surrogate pair, which strict parsers refuse, is a replacement character. */
export function wellFormed(json: string): string {
  // JSON.stringify writes halves, and nothing else that begins so, as escapes.
  if (!json.includes("\\ud")) return json;
  return json.replace(/\\(?:\\|ud[89a-f][0-9a-f]{2})/g, (part) => (part === "\\\\" ? part : "\\ufffd"));
}

/**
 * A value that is JSON already, as text or as UTF-8 bytes in pieces: too deep for JSON.stringify, too big to
 * be built as one string, or known without building it. Only a whole `data` value may be one.
 */
export class RawJson {
  constructor(readonly json: string | readonly Uint8Array[]) {}
}
