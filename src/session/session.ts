import path from "node:path";
import { Refusal } from "../base/refusal.ts";
import { textOf } from "../llm/message.ts";
import { Branch } from "./branch.ts";
import { messageOf, type ContextItem } from "./context.ts";
import { entriesJson } from "./entry-text.ts";
import type { EntryNode } from "./entries.ts";
import { movesLeaf, SESSION_VERSION, type Entry, type EntryBody, type SessionHeader } from "./entry.ts";
import { withNewId } from "./exclusive.ts";
import { SessionFile } from "./file.ts";
import { fill, forkMessages, forkPoint, type ForkMessage } from "./fork.ts";
import { Journal } from "./journal.ts";
import type { AgentMessage } from "./message.ts";
import { forVersion1 } from "./migrate.ts";
import type { Notice } from "./open.ts";
import { checkSessionId, fileName } from "./place.ts";
import type { QueuedMessage } from "./queue.ts";
import type { Stats } from "./stats.ts";
import { treeJson } from "./tree-json.ts";
import { flatTree, nestedTree, upwards, type FlatNode, type TreeNode } from "./tree.ts";

export interface NewSession {
  /** Absolute. */
  cwd: string;
  /** The folder for the file; null keeps the session in memory. */
  dir: string | null;
  /** One that the user chose: the file is made at once, and another session of that id in the folder is refused. */
  id?: string;
  parentSession?: string;
  /** Make the file now, not with the first thing worth keeping. */
  atOnce?: boolean;
  /** Epoch ms. */
  now?: () => number;
}

export interface NewFork extends Omit<NewSession, "parentSession" | "atOnce"> {
  leafId?: string | null;
}

/** Some entries in the order of the file. `hasMore`: the limit left out later ones. */
export interface Page<Part> {
  entries: Part;
  leafId: string | null;
  hasMore?: true;
}

/** A conversation: a tree of entries, the branch of it that is active, and the file that all of it stands in. */
export class Session {
  readonly #branch: Branch;
  #place: string | undefined;

  private constructor(
    private readonly journal: Journal,
    /** What was repaired or skipped, or cannot be done. */
    readonly notices: readonly Notice[],
    private readonly now: () => number,
  ) {
    this.#branch = new Branch(journal);
  }

  /** Throws Refusal `invalid` for an id that is none or is taken, and SessionWriteError when the file is due at once and cannot be made. */
  static create(o: NewSession): Session {
    if (o.id !== undefined) checkSessionId(o.id);
    const now = o.now ?? Date.now;
    const id = o.id ?? Bun.randomUUIDv7();
    const timestamp = new Date(now()).toISOString();
    const header: SessionHeader = { type: "session", version: SESSION_VERSION, id, timestamp, cwd: o.cwd };
    if (o.parentSession !== undefined) header.parentSession = o.parentSession;
    const journal = new Journal(header, o.dir === null ? undefined : path.resolve(o.dir, fileName(timestamp, id)));
    if (o.dir !== null && o.id !== undefined) withNewId(o.dir, id, () => journal.begin());
    else if (o.atOnce) journal.begin();
    return new Session(journal, [], now);
  }

  /**
   * Opens a session file and keeps other processes from writing it. Reading gives others their turn now and then.
   * Throws Refusal: `not_found`, `invalid` for what is no session, `busy` with the owner, `unavailable`.
   */
  static async open(file: string, now: () => number = Date.now): Promise<Session> {
    const opened = SessionFile.open(path.resolve(file));
    const { load, tellLimits } = await import("./open.ts");
    const { journal, notices } = await load(opened);
    return new Session(journal, [...notices, ...tellLimits(opened)], now);
  }

  /**
   * A new session with the branch of another one, or of a file, down to `leafId` (null: nothing of it; default: its
   * leaf). Its file, if it has one, is there when this returns. The source is only read: another process may have
   * it open. `notices` tells what was repaired in a file.
   */
  static async fork(source: Session | string, o: NewFork): Promise<Session> {
    if (source instanceof Session) return source.#copy(o, []);
    const { load } = await import("./open.ts");
    const { journal, notices } = await load(SessionFile.peek(path.resolve(source)));
    const peeked = new Session(journal, notices, Date.now);
    try {
      return peeked.#copy(o, notices);
    } finally {
      peeked.close();
    }
  }

  get id(): string {
    return this.journal.header.id;
  }

  /** The folder to work in, absolute: that of the header (empty where a damaged file does not tell it), or the one that `workIn` gave. */
  get cwd(): string {
    return this.#place ?? this.journal.header.cwd;
  }

  /** Goes on in another folder. The file keeps the one it began in. */
  workIn(cwd: string): void {
    this.#place = cwd;
  }

  /** ISO 8601. */
  get createdAt(): string {
    return this.journal.header.timestamp;
  }

  get parentSession(): string | undefined {
    return this.journal.header.parentSession;
  }

  /** Where the session is kept, told before the file exists; undefined in memory. */
  get file(): string | undefined {
    return this.journal.path;
  }

  /** What people call it. */
  get name(): string | undefined {
    return this.journal.ledger.name;
  }

  get leafId(): string | null {
    return this.#branch.leaf?.id ?? null;
  }

  /**
   * Adds an entry below the leaf; it is in the file when this returns. Throws SessionWriteError and changes
   * nothing when it cannot be written; later ones may succeed.
   */
  append(body: EntryBody): Entry {
    const { entries, version } = this.journal;
    const id = entries.freshId();
    const { type, ...rest } = version < 2 ? forVersion1(body, id, (target) => entries.get(target)) : body;
    const entry = { type, id, parentId: this.leafId, timestamp: new Date(this.now()).toISOString(), ...rest } as Entry;
    const nodes = this.journal.add([entry]);
    if (movesLeaf(type)) this.#branch.moveTo(nodes[0]!, entry);
    if (type === "custom") entries.releaseLarge(nodes);
    return entry;
  }

  /** What the model will see of the active branch. Grows with the session: copy it to keep it. */
  messages(): readonly AgentMessage[] {
    return this.#branch.messages();
  }

  /** How many `messages()` has, without making them of a long session. */
  get messageCount(): number {
    return this.#branch.messageCount;
  }

  /** `messages()` with the entries that they come from. */
  contextItems(): readonly ContextItem[] {
    return this.#branch.items();
  }

  /** The model that the active branch was last set to or answered by. */
  modelChoice(): { provider: string; modelId: string } | undefined {
    return this.#branch.state.model;
  }

  thinkingLevel(): string | undefined {
    return this.#branch.state.thinkingLevel;
  }

  /** The state of the branch's last `todo_snapshot`. */
  todos(): unknown {
    return this.#branch.state.todos;
  }

  /** Messages that were accepted and are neither delivered nor cleared, in order. */
  pendingQueue(): QueuedMessage[] {
    return this.journal.ledger.queue.list();
  }

  entry(id: string): Entry | undefined {
    const node = this.journal.entries.get(id);
    return node && this.journal.entries.body(node);
  }

  /** The active branch from its root to its leaf. What is not in memory is read back as it is asked for. */
  branch(): Iterable<Entry> {
    return this.journal.entries.bodies(this.#branch.nodes());
  }

  /** Entries strictly after `since`. Throws Refusal `not_found`. */
  async entries(since?: string, limit?: number): Promise<Page<Entry[]>> {
    const { entries, ...rest } = this.#page(since, limit);
    return { entries: [...this.journal.entries.bodies(entries)], ...rest };
  }

  /** `entries` as the JSON of the array, in pieces of bytes: straight from the file, for what is too much for objects. */
  entriesJson(since?: string, limit?: number): Page<Iterable<Uint8Array>> {
    const { entries, ...rest } = this.#page(since, limit);
    return { entries: entriesJson(this.journal.entries, entries), ...rest };
  }

  tree(): TreeNode[] {
    return nestedTree(this.journal);
  }

  /** The JSON of `tree()`, of any depth, in pieces of bytes. */
  treeJson(): Iterable<Uint8Array> {
    return treeJson(this.journal);
  }

  flatTree(): FlatNode[] {
    return flatTree(this.journal);
  }

  /** Every user message of the file in its order, of other branches and compacted ones too. */
  forkMessages(): ForkMessage[] {
    return forkMessages(this.journal.entries);
  }

  /** What a user message says and the leaf before it, for `fork`. Throws Refusal for what is no user message. */
  forkPoint(entryId: string): { text: string; leafId: string | null } {
    return forkPoint(this.journal.entries, entryId);
  }

  stats(): Stats {
    const { stats } = this.journal.ledger;
    return { ...stats, tokens: { ...stats.tokens } };
  }

  /** The text of the branch's last answer that has one; null when none has. */
  lastAssistantText(): string | null {
    for (const node of upwards(this.#branch.leaf)) {
      const message = node.role === "assistant" && messageOf(this.journal.entries.body(node));
      if (!message || message.role !== "assistant") continue;
      const text = textOf(message.content).trim();
      if (text) return text;
    }
    return null;
  }

  /** Makes the file now, for what is stored beside it, unless it is there or there is none. Throws SessionWriteError. */
  keep(): void {
    this.journal.begin();
  }

  /** What was appended survives a loss of power when this returns. */
  sync(): void {
    this.journal.sync();
  }

  /** Gives the file free for others. Nothing can be appended or read back afterwards. */
  close(): void {
    this.journal.close();
  }

  #copy({ leafId = this.leafId, ...o }: NewFork, notices: readonly Notice[]): Session {
    const leaf = leafId === null ? null : this.journal.entries.get(leafId);
    if (leaf === undefined) throw new Refusal("not_found", `Entry not found: ${leafId}`);
    const { journal, now } = Session.create({ ...o, ...(this.file !== undefined && { parentSession: this.file }), atOnce: true });
    fill(journal, this.journal, leaf);
    return new Session(journal, notices, now);
  }

  #page(since: string | undefined, limit: number | undefined): Page<EntryNode[]> {
    const { entries } = this.journal;
    const after = since === undefined ? undefined : entries.get(since);
    if (since !== undefined && !after) throw new Refusal("not_found", `Entry not found: ${since}`);
    const from = after ? after.index + 1 : 0;
    const nodes = entries.nodes.slice(from, limit === undefined ? undefined : from + limit);
    const page: Page<EntryNode[]> = { entries: nodes, leafId: this.leafId };
    if (from + nodes.length < entries.nodes.length) page.hasMore = true;
    return page;
  }
}
