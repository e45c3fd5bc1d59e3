import { Entries, EntryNode, LARGE_BYTES } from "./entries.ts";
import type { Entry, SessionHeader } from "./entry.ts";
import { Ledger } from "./ledger.ts";
import { derivedId, migrated } from "./migrate.ts";

/** Entries of a file with more bytes than this are read back when they are asked for: most of a long session never is. */
const KEPT_BYTES = 8 * 1024 * 1024;

/** The fields by which entries name others, beside `parentId`. */
const REFERENCES = { compaction: "firstKeptEntryId", context_edit: "targetId", label: "targetId", branch_summary: "fromId" } as const;

/**
 * Makes the tree of a file from its records in their order, whatever they look like: an entry with the id of an
 * earlier one, or without one, gets an id computed from its offset, and those that name it after that mean it, not
 * the earlier one; a parent that is nowhere is cut off, and so is a cycle. All of this is in memory only and comes
 * out the same each time.
 */
export class Assembly {
  readonly entries = new Entries();
  readonly ledger = new Ledger();
  header: SessionHeader | undefined;
  duplicates = 0;
  missingParents = 0;
  cycles = 0;
  #keptBytes = 0;
  /** Nodes whose id is not known before all others are. */
  readonly #unnamed: EntryNode[] = [];
  /** The latest entry of an id that occurs twice. */
  readonly #latest = new Map<string, EntryNode>();
  readonly #forward: { node: EntryNode; parentId: string }[] = [];
  readonly #renamedTargets: { node: EntryNode; field: string; target: EntryNode }[] = [];

  /** Takes a record; false when it is none of a session's. */
  take(record: unknown, at: number, length: number): boolean {
    if (typeof record !== "object" || record === null || typeof (record as Entry).type !== "string") return false;
    if ((record as { type: string }).type === "session") {
      this.header ??= asHeader(record);
      return true;
    }
    this.#place(record as Entry, at, length);
    return true;
  }

  /** Names what has no name yet and mends the chains, once all records are taken. */
  finish(): void {
    for (const node of this.#unnamed) {
      node.id = derivedId(node.at, (id) => this.entries.has(id));
      this.entries.register(node);
    }
    for (const { node, parentId } of this.#forward) {
      node.parent = this.entries.get(parentId) ?? null;
      if (node.parent === node) node.parent = null;
      if (!node.parent) this.missingParents++;
      node.isChanged ||= node.parent === null;
    }
    this.#cutCycles();
    for (const [id, node] of this.#latest) this.entries.idsInFile.set(node.id, id);
    for (const { node, field, target } of this.#renamedTargets) {
      node.isChanged = true;
      this.entries.patches.set(node, { [field]: target.id });
    }
    const renamed = new Set(this.#unnamed);
    for (const node of this.entries.nodes) {
      node.isChanged ||= node.parent !== null && renamed.has(node.parent);
      if (node.isChanged && node.body) node.body = this.entries.asHeld(node, node.body);
    }
  }

  #place(record: Entry, at: number, length: number): void {
    const { nodes } = this.entries;
    const entry = migrated(record);
    const id = typeof record.id === "string" && record.id !== "" ? record.id : undefined;
    const role: unknown = entry.type === "message" ? entry.message?.role : undefined;
    const node = new EntryNode(nodes.length, id ?? "", entry.type, typeof role === "string" ? role : undefined, at, length, this.#keep(entry, length));
    node.isChanged = entry !== record;
    this.#chain(node, record.parentId, id);
    if (id === undefined) this.#unnamed.push(node);
    else if (this.entries.has(id)) {
      this.duplicates++;
      this.#unnamed.push(node);
      this.#latest.set(id, node);
    } else this.entries.register(node);
    if (this.#unnamed.at(-1) === node) node.isChanged = true;
    this.#followRenamed(node, entry);
    nodes.push(node);
    this.ledger.take(entry);
  }

  #chain(node: EntryNode, parentId: unknown, id: string | undefined): void {
    const before = this.entries.nodes[node.index - 1];
    if (typeof parentId === "string" && parentId !== "") {
      const parent = before?.id === parentId && this.#latest.size === 0 ? before : (this.#latest.get(parentId) ?? this.entries.get(parentId));
      if (parent) node.parent = parent;
      else this.#forward.push({ node, parentId });
    } else if (parentId !== null) {
      // Version 1 has neither ids nor parents.
      node.parent = id === undefined && parentId === undefined ? (before ?? null) : null;
      node.isChanged = true;
    }
  }

  #followRenamed(node: EntryNode, entry: Entry): void {
    const { type } = entry;
    if (type === "compaction" && entry.firstKeptEntryId === undefined) return this.#followNumber(node, entry);
    if (this.#latest.size === 0 || !(type in REFERENCES)) return;
    const field = REFERENCES[type as keyof typeof REFERENCES];
    const target = this.#latest.get((entry as unknown as Record<string, string>)[field] ?? "");
    if (target) this.#renamedTargets.push({ node, field, target });
  }

  /** Version 1 names the first kept entry by its number among the records, the header being 0. */
  #followNumber(node: EntryNode, entry: object): void {
    const { firstKeptEntryIndex: number } = entry as { firstKeptEntryIndex?: unknown };
    const target = typeof number === "number" ? this.entries.nodes[number - 1] : undefined;
    if (target) this.#renamedTargets.push({ node, field: REFERENCES.compaction, target });
  }

  #keep(entry: Entry, length: number): Entry | undefined {
    if (length > LARGE_BYTES || this.#keptBytes > KEPT_BYTES) return undefined;
    this.#keptBytes += length;
    if (this.#keptBytes <= KEPT_BYTES) return entry;
    for (const node of this.entries.nodes) node.body = undefined;
    return undefined;
  }

  /** Cycles need a parent that stands later in the file, so only the chains above those are walked, each once. */
  #cutCycles(): void {
    const state = new Map<EntryNode, "walked" | "sound">();
    for (const { node } of this.#forward) {
      const path: EntryNode[] = [];
      let at: EntryNode | null = node;
      for (; at && !state.has(at); at = at.parent) {
        state.set(at, "walked");
        path.push(at);
      }
      if (at && state.get(at) === "walked") this.#cutAt(path.slice(path.indexOf(at)));
      for (const walked of path) state.set(walked, "sound");
    }
  }

  /** The entry of a cycle that stands first in the file becomes a root. */
  #cutAt(cycle: EntryNode[]): void {
    const first = cycle.reduce((a, b) => (a.index < b.index ? a : b));
    first.parent = null;
    first.isChanged = true;
    this.cycles++;
  }
}

function asHeader(record: object): SessionHeader | undefined {
  const header = record as SessionHeader;
  return typeof header.id === "string" && header.id !== "" ? header : undefined;
}
