/** JSON in which half a surrogate pair, which strict parsers refuse, is a replacement character. */
export function wellFormed(json: string): string {
  // JSON.stringify writes halves, and nothing else that begins so, as escapes.
  if (!json.includes("\\ud")) return json;
  return json.replace(/\\(?:\\|ud[89a-f][0-9a-f]{2})/g, (part) => (part === "\\\\" ? part : "\\ufffd"));
}
