import { Refusal } from "../base/refusal.ts";
import { textOf } from "../llm/message.ts";
import type { Entries, EntryNode } from "./entries.ts";
import type { Entry } from "./entry.ts";
import { messageOf } from "./context.ts";
import type { Journal } from "./journal.ts";
import { upwards } from "./tree.ts";

/** So much is written at a time. */
const BATCH_BYTES = 1024 * 1024;

/** A user message that a fork can start before. */
export interface ForkMessage {
  entryId: string;
  text: string;
}

/** Every user message of the file, in its order, of other branches and compacted ones too. */
export function forkMessages(entries: Entries): ForkMessage[] {
  const asked = entries.nodes.filter(({ role }) => role === "user");
  return [...entries.bodies(asked)].map((entry) => ({ entryId: entry.id, text: textIn(entry) }));
}

/** The text of a user message and the leaf that stands before it. Throws Refusal for what is no user message. */
export function forkPoint(entries: Entries, entryId: string): { text: string; leafId: string | null } {
  const node = entries.get(entryId);
  if (!node) throw new Refusal("not_found", `Entry not found: ${entryId}`);
  if (node.role !== "user") throw new Refusal("invalid", `Entry ${entryId} is no user message; get_fork_messages lists those that a fork can start before`);
  return { text: textIn(entries.body(node)), leafId: node.parentId };
}

function textIn(entry: Entry): string {
  const message = messageOf(entry);
  return message?.role === "user" ? textOf(message.content) : "";
}

/** Copies a branch into a session that is empty; its file is taken away when it cannot be written whole. */
export function fill(target: Journal, source: Journal, leaf: EntryNode | null): void {
  let batch: Entry[] = [];
  let bytes = 0;
  const flush = (): void => {
    target.entries.releaseLarge(target.add(batch));
    batch = [];
    bytes = 0;
  };
  try {
    for (const entry of copiesOf(leaf, source)) {
      batch.push(entry);
      bytes += source.entries.get(entry.id)?.length ?? 0;
      if (bytes >= BATCH_BYTES) flush();
    }
    target.begin();
    flush();
  } catch (error) {
    target.discard();
    throw error;
  }
}

/**
 * The entries of a branch for a file of its own, chained anew and with their ids. Queued messages stay where they
 * wait. Labels are set again behind the others, those of entries that are copied.
 */
function* copiesOf(leaf: EntryNode | null, { entries, ledger }: Journal): Generator<Entry> {
  const branch = [...upwards(leaf)].reverse();
  const isCopied = ({ type }: { type: string }): boolean => type !== "label" && type !== "queue";
  /** An entry that is left out is stood for by the next one that is copied. */
  const standsFor = new Map<string, string>();
  let next: string | undefined;
  for (const node of branch.toReversed()) {
    if (isCopied(node)) next = node.id;
    else if (next !== undefined) standsFor.set(node.id, next);
  }
  let parentId: string | null = null;
  const ids = new Set<string>();
  for (const original of entries.bodies(branch.filter(isCopied))) {
    let entry: Entry = { ...original, parentId };
    if (entry.type === "compaction") entry = { ...entry, firstKeptEntryId: standsFor.get(entry.firstKeptEntryId) ?? entry.firstKeptEntryId };
    yield entry;
    parentId = entry.id;
    ids.add(entry.id);
  }
  for (const [targetId, { label, timestamp }] of ledger.labels) {
    if (!ids.has(targetId)) continue;
    let id = entries.freshId();
    while (ids.has(id)) id = entries.freshId();
    ids.add(id);
    yield { type: "label", id, parentId, timestamp, targetId, label };
  }
}
