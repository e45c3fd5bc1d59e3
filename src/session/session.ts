import * as path from "node:path";
import { textOf } from "../llm/message.ts";
import { changesContext, contextOf, messageOf, type ContextItem } from "./context.ts";
import { movesLeaf, SESSION_VERSION, type Entry, type EntryBody, type SessionHeader } from "./entry.ts";
import { SessionFile } from "./file.ts";
import type { AgentMessage } from "./message.ts";
import { checkSessionId, fileName } from "./place.ts";
import { count, noStats, type Stats } from "./stats.ts";

export interface Notice {
  level: "info" | "warning";
  code: string;
  message: string;
}

export interface QueuedMessage {
  /** The id of its `queue` entry; goes into `queueId` of the message entry that delivers it. */
  id: string;
  kind: "steer" | "followUp";
  content: string | import("./entry.ts").Blocks;
  requestId?: string | number;
}

export interface NewSession {
  cwd: string;
  /** The folder for the file; null keeps the session in memory. */
  dir: string | null;
  id?: string;
  parentSession?: string;
  /** Write the file now, not with the first thing worth keeping. */
  atOnce?: boolean;
  now?: () => number;
}

/** Entries that are not worth a file of their own: they are written with the first one that is. */
const HELD = new Set(["model_change", "thinking_level_change"]);

/** A conversation: a tree of entries, the branch that is active, and the file that they stand in. */
export class Session {
  readonly notices: Notice[] = [];
  private readonly all: Entry[] = [];
  private readonly byId = new Map<string, Entry>();
  private readonly queued = new Map<string, QueuedMessage>();
  private readonly counted: Stats = noStats();
  private held: Entry[] = [];
  private opened: SessionFile | undefined;
  private items: ContextItem[] = [];
  private context: AgentMessage[] = [];
  private leaf: string | null = null;
  private title: string | undefined;

  private constructor(
    private readonly header: SessionHeader,
    /** Where the session is kept, told before the file exists; undefined in memory. */
    readonly file: string | undefined,
    private readonly now: () => number,
  ) {}

  static create(o: NewSession): Session {
    if (o.id !== undefined) checkSessionId(o.id);
    const now = o.now ?? Date.now;
    const id = o.id ?? Bun.randomUUIDv7();
    const timestamp = new Date(now()).toISOString();
    const header: SessionHeader = { type: "session", version: SESSION_VERSION, id, timestamp, cwd: o.cwd };
    if (o.parentSession !== undefined) header.parentSession = o.parentSession;
    const session = new Session(header, o.dir === null ? undefined : path.join(o.dir, fileName(timestamp, id)), now);
    if (o.atOnce) session.write([]);
    return session;
  }

  get id(): string {
    return this.header.id;
  }

  get cwd(): string {
    return this.header.cwd;
  }

  /** ISO 8601. */
  get createdAt(): string {
    return this.header.timestamp;
  }

  get parentSession(): string | undefined {
    return this.header.parentSession;
  }

  get name(): string | undefined {
    return this.title;
  }

  get leafId(): string | null {
    return this.leaf;
  }

  /**
   * Adds an entry below the leaf; it is in the file when this returns. Throws SessionWriteError and changes
   * nothing when it cannot be written.
   */
  append(body: EntryBody): Entry {
    const { type, ...rest } = body;
    const entry = { type, id: this.freshId(), parentId: this.leaf, timestamp: new Date(this.now()).toISOString(), ...rest } as Entry;
    if (this.file !== undefined) {
      if (!this.opened && HELD.has(type)) this.held.push(entry);
      else this.write([entry]);
    }
    this.add(entry);
    return entry;
  }

  /** What the model will see of the active branch. The array grows with the session; copy it to keep it. */
  messages(): readonly AgentMessage[] {
    return this.context;
  }

  /** `messages()` with the entries they come from. */
  contextItems(): readonly ContextItem[] {
    return this.items;
  }

  /** The model that the active branch was last set to or answered by. */
  modelChoice(): { provider: string; modelId: string } | undefined {
    for (const entry of this.upwards()) {
      if (entry.type === "model_change") return { provider: entry.provider, modelId: entry.modelId };
      if (entry.type === "message" && entry.message?.role === "assistant") return { provider: entry.message.provider, modelId: entry.message.model };
    }
    return undefined;
  }

  thinkingLevel(): string | undefined {
    for (const entry of this.upwards()) if (entry.type === "thinking_level_change") return entry.thinkingLevel;
    return undefined;
  }

  /** The state of the branch's last `todo_snapshot`. */
  todos(): unknown {
    for (const entry of this.upwards()) if (entry.type === "todo_snapshot") return entry.state;
    return undefined;
  }

  /** Messages that were accepted and are neither delivered nor cleared, in order. */
  pendingQueue(): QueuedMessage[] {
    return [...this.queued.values()];
  }

  entry(id: string): Entry | undefined {
    return this.byId.get(id);
  }

  /** The active branch from its root to its leaf. */
  branch(): Entry[] {
    return [...this.upwards()].reverse();
  }

  stats(): Stats {
    return { ...this.counted, tokens: { ...this.counted.tokens } };
  }

  /** The text of the last answer that has one; null without. */
  lastAssistantText(): string | null {
    const { context } = this;
    for (let i = context.length - 1; i >= 0; i--) {
      const message = context[i];
      if (message?.role !== "assistant") continue;
      const text = textOf(message.content).trim();
      if (text || message.stopReason === "stop") return text || null;
    }
    return null;
  }

  /** Everything that was appended survives a loss of power when this returns. */
  sync(): void {
    this.opened?.sync();
  }

  /** Gives the file free. Nothing may be appended afterwards. */
  close(): void {
    this.opened?.close();
    this.opened = undefined;
  }

  private *upwards(): Generator<Entry> {
    for (let id = this.leaf; id !== null; ) {
      const entry = this.byId.get(id);
      if (!entry) return;
      yield entry;
      id = entry.parentId;
    }
  }

  private write(entries: Entry[]): void {
    if (this.file === undefined) return;
    if (this.opened) return this.opened.append(lines(entries));
    this.opened = SessionFile.create(this.file, lines([this.header, ...this.held, ...entries]));
    this.held = [];
  }

  private add(entry: Entry): void {
    this.all.push(entry);
    this.byId.set(entry.id, entry);
    count(this.counted, entry);
    if (entry.type === "session_info") this.title = entry.name?.trim() || undefined;
    if (entry.type === "queue" && entry.op === "add") {
      const { id, kind, content, requestId } = entry;
      this.queued.set(id, requestId === undefined ? { id, kind, content } : { id, kind, content, requestId });
    } else if (entry.type === "queue") for (const id of entry.ids) this.queued.delete(id);
    if (entry.type === "message" && entry.queueId !== undefined) this.queued.delete(entry.queueId);
    if (!movesLeaf(entry.type)) return;
    this.leaf = entry.id;
    if (changesContext(entry)) {
      this.items = contextOf(this.branch());
      this.context = this.items.map((item) => item.message);
      return;
    }
    const message = messageOf(entry);
    if (!message) return;
    this.items.push({ entryId: entry.id, message });
    this.context.push(message);
  }

  private freshId(): string {
    for (;;) {
      const id = crypto.randomUUID().slice(0, 8);
      if (!this.byId.has(id)) return id;
    }
  }
}

function lines(records: readonly object[]): string {
  let text = "";
  for (const record of records) text += `${JSON.stringify(record)}\n`;
  return text;
}
