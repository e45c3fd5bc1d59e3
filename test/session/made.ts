import fs from "node:fs";
import path from "node:path";
import type { AgentMessage } from "../../src/session/message.ts";

/** Records of session files, in a hand of their own: what they test must not be what made them. */
export const TIME = "2025-06-01T10:00:00.000Z";
const MS = Date.parse(TIME);

export const header = (more: object = {}): object => ({ type: "session", version: 3, id: "0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", timestamp: TIME, cwd: "/home/place", ...more });
export const entry = (id: string, parentId: string | null, body: object): object => ({ ...body, id, parentId, timestamp: TIME });
export const message = (id: string, parentId: string | null, value: unknown): object => entry(id, parentId, { type: "message", message: value });
export const user = (text: string): AgentMessage => ({ role: "user", content: [{ type: "text", text }], timestamp: MS });
export const assistant = (text: string, more: object = {}): AgentMessage => ({
  role: "assistant",
  content: text ? [{ type: "text", text }] : [],
  api: "openai-completions",
  provider: "local",
  model: "small",
  usage: { input: 10, output: 5, cacheRead: 2, cacheWrite: 1, totalTokens: 18, cost: { input: 0.1, output: 0.2, cacheRead: 0, cacheWrite: 0, total: 0.3 } },
  stopReason: "stop",
  timestamp: MS,
  ...more,
});

export const idOf = (number: number): string => number.toString(16).padStart(8, "0");

/** A header and a plain talk, question and answer in turn, with the ids 00000001, 00000002, … */
export function talk(texts: string[], more?: object): object[] {
  return [header(more), ...texts.map((text, i) => message(idOf(i + 1), i === 0 ? null : idOf(i), i % 2 === 0 ? user(text) : assistant(text)))];
}

/** Writes records (objects) and raw lines (strings). */
export function put(file: string, records: readonly (object | string)[], end = "\n"): string {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, records.map((record) => (typeof record === "string" ? record : JSON.stringify(record))).join("\n") + end);
  return file;
}

/** The records of a file, each line of which must be JSON. */
export function recordsOf(file: string): Record<string, any>[] {
  const text = fs.readFileSync(file, "utf8");
  if (!text.endsWith("\n")) throw new Error(`${file} does not end with a line feed`);
  return text.slice(0, -1).split("\n").map((line) => JSON.parse(line) as Record<string, any>);
}

export const textsOf = (messages: readonly AgentMessage[]): string[] =>
  messages.map((one) => ("summary" in one ? one.summary : "content" in one ? (typeof one.content === "string" ? one.content : one.content.map((block) => ("text" in block ? block.text : `<${block.type}>`)).join("")) : one.command));
