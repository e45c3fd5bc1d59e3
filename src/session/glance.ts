import fs from "node:fs";
import { shorten } from "../base/text.ts";
import { textOf } from "../llm/message.ts";
import { messageOf } from "./context.ts";
import type { Entry, SessionHeader } from "./entry.ts";
import { parseBytes, walkLines, type Scratch } from "./lines.ts";
import { nameIn } from "./name.ts";

/** A session file seen from outside, as `session_list` shows it. */
export interface SessionSummary {
  path: string;
  id: string;
  name?: string;
  cwd: string;
  /** The text of the first user message, cut after 500 characters; empty without one. */
  firstMessage: string;
  /** Messages in the whole file, other branches and compacted ones too, `system` ones aside. */
  messageCount: number;
  /** Epoch ms, as `modifiedAt`, which is that of the file. */
  createdAt: number;
  modifiedAt: number;
  /** Bytes. */
  size: number;
}

const MAX_TEXT = 500;
const MESSAGE = Buffer.from('{"type":"message"');
const NAME = Buffer.from('{"type":"session_info"');
const KNOWN = Buffer.from('{"type":"');
const SYSTEM = '"message":{"role":"system"';
/** The head of an entry is no longer. */
const HEAD_BYTES = 200;
const CLOSING_BRACE = 125;

/**
 * Looks at a file without parsing its entries: only the header, the first user message and the last name are. The
 * others are told by how they begin, as pi and rpi write them; what begins otherwise is parsed. Undefined for
 * what is no session.
 */
export async function glance(path: string, scratch: Scratch): Promise<SessionSummary | undefined> {
  const fd = fs.openSync(path, "r");
  try {
    const { size, mtimeMs } = fs.fstatSync(fd);
    const seen = new Glance();
    await walkLines(fd, seen, scratch);
    const { header, name } = seen;
    if (!header) return undefined;
    const createdAt = Date.parse(header.timestamp) || Math.floor(mtimeMs);
    const summary = { path, id: header.id, cwd: typeof header.cwd === "string" ? header.cwd : "", firstMessage: seen.firstMessage ?? "", messageCount: seen.messageCount, createdAt, size };
    // The clock of files lags a few milliseconds behind.
    const modifiedAt = Math.max(Math.floor(mtimeMs), createdAt <= Date.now() ? createdAt : 0);
    return { ...summary, modifiedAt, ...(name !== undefined && { name }) };
  } finally {
    fs.closeSync(fd);
  }
}

class Glance {
  header: SessionHeader | undefined;
  messageCount = 0;
  firstMessage: string | undefined;
  name: string | undefined;

  lines(buffer: Buffer, from: number, to: number): void {
    for (let start = from; start < to; ) {
      const end = buffer.indexOf(10, start);
      this.#line(buffer, start, end);
      start = end + 1;
    }
  }

  rest(buffer: Buffer, from: number, to: number): void {
    const bytes = buffer.subarray(from, to);
    if (parseBytes(bytes) !== undefined) this.#line(bytes, 0, bytes.length);
  }

  tooLong(): void {
    // Not an entry that can be read.
  }

  #line(buffer: Buffer, start: number, end: number): void {
    const isPlain = startsWith(buffer, start, end, KNOWN);
    const isMessage = isPlain && startsWith(buffer, start, end, MESSAGE);
    if (isMessage && this.header && this.firstMessage !== undefined) {
      // A torn line that others were appended behind does not end like an entry.
      if (buffer[end - 1] === CLOSING_BRACE || buffer[end - 2] === CLOSING_BRACE) this.messageCount += isSystem(buffer, start, end) ? 0 : 1;
      return;
    }
    if (this.header && isPlain && !isMessage && !startsWith(buffer, start, end, NAME)) return;
    const record = parseBytes(buffer.subarray(start, end)) as Entry | SessionHeader | undefined;
    if (typeof record === "object" && record !== null) this.#take(record);
  }

  #take(record: Entry | SessionHeader): void {
    switch (record.type) {
      case "session":
        if (typeof record.id === "string") this.header ??= record;
        return;
      case "session_info":
        this.name = nameIn(record);
        return;
      case "message": {
        const role: unknown = record.message?.role;
        if (role !== "system") this.messageCount++;
        if (role !== "user" || this.firstMessage !== undefined) return;
        const message = messageOf(record);
        const text = message?.role === "user" ? textOf(message.content) : "";
        this.firstMessage = shorten(text, MAX_TEXT);
      }
    }
  }
}

function startsWith(buffer: Buffer, start: number, end: number, prefix: Buffer): boolean {
  if (end - start < prefix.length) return false;
  for (let i = 0; i < prefix.length; i++) if (buffer[start + i] !== prefix[i]) return false;
  return true;
}

function isSystem(buffer: Buffer, start: number, end: number): boolean {
  return buffer.toString("latin1", start, Math.min(start + HEAD_BYTES, end)).includes(SYSTEM);
}
