/** A record of the wire. Tests look into it as they like, so its fields have no type. */
export type WireRecord = { type: string; [field: string]: any };

/** The text of a message, thinking left out. */
export function textOf(message: { content: string | { type: string; text?: string }[] }): string {
  if (typeof message.content === "string") return message.content;
  return message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

/** At most `length` characters, for messages. */
export function shorten(text: string, length = 300): string {
  return text.length <= length ? text : `${text.slice(0, length)}… (${text.length} characters)`;
}
