import { Refusal } from "../base/refusal.ts";
import { migrated } from "./migrate.ts";
import type { Entry } from "./entry.ts";
import { parseAll, parseBytes } from "./lines.ts";
import type { Source } from "./window.ts";

/** Entries of more bytes than this stay in memory only while the context needs them. */
export const LARGE_BYTES = 64 * 1024;

/** How much of the file is read at once when many entries are. */
const RUN_BYTES = 256 * 1024;
/** Bytes between two lines that are neighbours: the line's end, maybe with a CR. */
const MAX_GAP = 2;

/** An entry's place in the tree and in the file. The entry itself may be in memory or only in the file. */
export class EntryNode {
  parent: EntryNode | null = null;
  /** The entry is not what its line says: it was repaired, or is of an older version. */
  isChanged = false;

  constructor(
    /** Its number in the order of the file, from 0. */
    readonly index: number,
    public id: string,
    readonly type: string,
    /** Of a message. */
    readonly role: string | undefined,
    /** Offset of its line in bytes; -1 while it stands in no file. */
    public at: number,
    /** Of its line without the end, in bytes. */
    public length: number,
    public body: Entry | undefined,
  ) {}

  get parentId(): string | null {
    return this.parent ? this.parent.id : null;
  }
}

/** All entries of a session, in the order of the file. */
export class Entries {
  readonly nodes: EntryNode[] = [];
  source: Source | undefined;
  /** Fields that a repair has changed, besides `id` and `parentId`. */
  readonly patches = new Map<EntryNode, object>();
  /** What entries whose ids were taken are called in the file, by the ids that they have instead. */
  readonly idsInFile = new Map<string, string>();
  readonly #byId = new Map<string, EntryNode>();

  get(id: string): EntryNode | undefined {
    return this.#byId.get(id);
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  /** Makes a node known by its id. */
  register(node: EntryNode): void {
    this.#byId.set(node.id, node);
  }

  /** Adds the newest entry. */
  push(entry: Entry): EntryNode {
    const role = entry.type === "message" ? entry.message?.role : undefined;
    const node = new EntryNode(this.nodes.length, entry.id, entry.type, role, -1, 0, entry);
    node.parent = entry.parentId === null ? null : (this.#byId.get(entry.parentId) ?? null);
    this.nodes.push(node);
    this.register(node);
    return node;
  }

  /** The entry of a node, read back from the file where it is not in memory. */
  body(node: EntryNode): Entry {
    return node.body ?? this.#asRead(node, parseBytes(this.#sourceFor(node).read(node.at, Buffer.allocUnsafe(node.length))));
  }

  /** `body`, for many; what stands together in the file is read together. */
  *bodies(nodes: readonly EntryNode[]): Generator<Entry> {
    let buffer: Buffer | undefined;
    for (let i = 0; i < nodes.length; ) {
      const { body } = nodes[i]!;
      const run = body ? 1 : runLength(nodes, i);
      if (body) yield body;
      else if (run === 1) yield this.body(nodes[i]!);
      else yield* this.#readRun(nodes.slice(i, i + run), (buffer ??= Buffer.allocUnsafe(RUN_BYTES)));
      i += run;
    }
  }

  /** Of these, only the places in the file are kept from now on. */
  release(nodes: Iterable<EntryNode>): void {
    if (this.source) for (const node of nodes) if (node.at >= 0) node.body = undefined;
  }

  /** Of those among these that are large. */
  releaseLarge(nodes: readonly EntryNode[]): void {
    this.release(nodes.filter(({ length }) => length > LARGE_BYTES));
  }

  /** The entry that a line stands for: the line's, with what was repaired. */
  asHeld(node: EntryNode, parsed: Entry): Entry {
    return node.isChanged ? ({ ...migrated(parsed), id: node.id, parentId: node.parentId, ...this.patches.get(node) } as Entry) : parsed;
  }

  idInFile(id: string | null): string | null {
    return id === null ? null : (this.idsInFile.get(id) ?? id);
  }

  /** 8 hex digits that no entry has. */
  freshId(): string {
    for (;;) {
      const id = crypto.randomUUID().slice(0, 8);
      if (!this.#byId.has(id)) return id;
    }
  }

  *#readRun(run: readonly EntryNode[], buffer: Buffer): Generator<Entry> {
    const [first, last] = [run[0]!, run.at(-1)!];
    const bytes = this.#sourceFor(first).read(first.at, buffer.subarray(0, last.at + last.length - first.at));
    const values = parseAll(bytes, run.length);
    for (const [i, node] of run.entries()) {
      const start = node.at - first.at;
      yield this.#asRead(node, values ? values[i] : parseBytes(bytes.subarray(start, start + node.length)));
    }
  }

  #asRead(node: EntryNode, parsed: unknown): Entry {
    const entry = parsed as Entry | null | undefined;
    if (entry?.type !== node.type || (!node.isChanged && entry.id !== node.id)) throw unreadable(node);
    return this.asHeld(node, entry);
  }

  #sourceFor(node: EntryNode): Source {
    if (!this.source) throw new Error(`Entry ${node.id} cannot be read: the session is closed`);
    return this.source;
  }
}

/** Said of an entry whose line is not where it was. */
export function unreadable({ id }: EntryNode): Refusal {
  return new Refusal("unavailable", `Entry ${id} can no longer be read: another program has changed the session file. Start a new session, or open this one again to go on with what is left of it.`);
}

/** How many nodes from one on stand behind each other in the file and are not in memory. */
function runLength(nodes: readonly EntryNode[], from: number): number {
  const { at } = nodes[from]!;
  for (let i = from + 1; i < nodes.length; i++) {
    const before = nodes[i - 1]!;
    const node = nodes[i]!;
    const gap = node.at - before.at - before.length;
    if (node.body || gap < 1 || gap > MAX_GAP || node.at + node.length - at > RUN_BYTES) return i - from;
  }
  return nodes.length - from;
}
