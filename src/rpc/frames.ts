import { isAscii, isUtf8 } from "node:buffer";
import { RawJson, isObject } from "../base/json.ts";
import type { RefusalCode } from "../base/refusal.ts";
import { shorten, wordsOf } from "../base/text.ts";

/** Every word that a failure's `code` can be (protocol.md, section 3). */
export type FailureCode = RefusalCode | "parse" | "unknown_command" | "internal";

/** A request's id as JSON text, so that a number comes back as it came; undefined when there is none. */
export type IdText = string | undefined;

/** The head of a line: what dispatch needs to know before it looks at fields. */
export type Head =
  | { fault: string; id: IdText }
  | { type: string; id: IdText; badId: boolean; record: Record<string, unknown> };

/** Reads one line (protocol.md, section 3, decision order 1 to 3). */
export function readLine(bytes: Uint8Array): Head {
  if (!isUtf8(bytes)) return { fault: "the line is not valid UTF-8", id: undefined };
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = isAscii(buffer) ? buffer.toString("latin1") : buffer.toString("utf8");
  let record: unknown;
  try {
    record = JSON.parse(text);
  } catch (error) {
    return { fault: reason(error, text), id: undefined };
  }
  if (!isObject(record)) return { fault: "a record must be a JSON object", id: undefined };
  const { id, bad } = readId(record, text);
  const type = Object.hasOwn(record, "type") ? record.type : undefined;
  if (typeof type !== "string") return { fault: 'missing string field "type"', id };
  return { type, id, badId: bad, record };
}

function reason(error: unknown, text: string): string {
  if (text.trim() === "") return "an empty line is not a record";
  return shorten(wordsOf(error), 200);
}

function readId(record: Record<string, unknown>, text: string): { id: IdText; bad: boolean } {
  const id = Object.hasOwn(record, "id") ? record.id : undefined;
  if (id === undefined || id === null) return { id: undefined, bad: false };
  if (typeof id === "string") return { id: JSON.stringify(id), bad: false };
  if (typeof id !== "number") return { id: undefined, bad: true };
  return { id: Number.isSafeInteger(id) ? String(id) : numberSource(text, id), bad: false };
}

/** The digits of a top-level `id` as they were written: a double cannot hold every number that JSON can. */
function numberSource(text: string, id: number): string {
  const sources = new Map<unknown, string>();
  const revive = function (this: unknown, key: string, value: unknown, context: { source?: string }): unknown {
    if (key === "id" && context.source !== undefined) sources.set(this, context.source);
    return value;
  };
  try {
    // The holder of the record's own id is the record.
    const record: unknown = JSON.parse(text, revive as (key: string, value: unknown) => unknown);
    return sources.get(record) ?? JSON.stringify(id);
  } catch {
    // A reviver is called recursively: the record is nested too deep for it.
    return JSON.stringify(id);
  }
}

const open = (id: IdText, command: string, success: boolean): string =>
  `{${id === undefined ? "" : `"id":${id},`}"type":"response","command":${JSON.stringify(command)},"success":${success}`;

/** A success as text, or as bytes in pieces when `data` is such; `data` of undefined is null. */
export function successText(id: IdText, command: string, data: unknown): string | readonly Uint8Array[] {
  const head = `${open(id, command, true)},"data":`;
  if (!(data instanceof RawJson)) return `${head}${data === undefined || data === null ? "null" : JSON.stringify(data)}}`;
  if (typeof data.json === "string") return `${head}${data.json}}`;
  return [Buffer.from(head), ...data.json, Buffer.from("}")];
}

/** A failure as text; `error` is for people, `code` for programs. */
export function failureText(id: IdText, command: string, code: FailureCode, error: string): string {
  return `${open(id, command, false)},"error":${JSON.stringify(error)},"code":"${code}"}`;
}

const MAX_ECHO_BYTES = 256;

/** An unknown type as it may be echoed: up to 256 bytes, cut between characters. */
export function echoed(type: string): string {
  const bytes = Buffer.from(type.length > MAX_ECHO_BYTES ? type.slice(0, MAX_ECHO_BYTES + 1) : type);
  if (bytes.length <= MAX_ECHO_BYTES) return type;
  let end = MAX_ECHO_BYTES;
  // Step back over the bytes of a character that does not fit whole.
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end -= 1;
  return `${bytes.subarray(0, end).toString("utf8")}…`;
}
