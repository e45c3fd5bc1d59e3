import type { Entries, EntryNode } from "./entries.ts";
import type { Entry } from "./entry.ts";
import type { AgentMessage } from "./message.ts";
import { soundMessage } from "./sound.ts";
import { upwards } from "./tree.ts";

/** A message of the context and the entry that it comes from. */
export interface ContextItem {
  entryId: string;
  message: AgentMessage;
}

/**
 * The entries that the context of a leaf is made of, in order: the last compaction of its branch, then what that
 * kept and all that came after it; without one the whole branch.
 */
export function shownNodes(leaf: EntryNode | null, entries: Entries): EntryNode[] {
  const after: EntryNode[] = [];
  const kept: EntryNode[] = [];
  let compaction: EntryNode | undefined;
  let firstKept: string | undefined;
  for (const node of upwards(leaf)) {
    if (!compaction) {
      if (node.type !== "compaction") {
        after.push(node);
        continue;
      }
      const body = entries.body(node);
      compaction = node;
      firstKept = body.type === "compaction" ? body.firstKeptEntryId : undefined;
      if (firstKept === node.id || typeof firstKept !== "string" || !entries.has(firstKept)) break;
      continue;
    }
    kept.push(node);
    if (node.id === firstKept) return [compaction, ...kept.reverse(), ...after.reverse()];
  }
  // A first kept entry that is not on the branch keeps none.
  return [...(compaction ? [compaction] : []), ...after.reverse()];
}

/** The context that these entries give, with the edits among them applied; of several edits of one entry the last counts. */
export function contextOf(shown: readonly EntryNode[], entries: Entries): ContextItem[] {
  const edits = new Map<string, unknown>();
  for (const node of shown) {
    const entry = node.type === "context_edit" && entries.body(node);
    if (entry && entry.type === "context_edit") edits.set(entry.targetId, entry.replacement);
  }
  const items: ContextItem[] = [];
  // The summary of an older compaction within the kept part is contained in the newer one.
  const speaking = shown.filter((node, i) => speaks(node) && (node.type !== "compaction" || i === 0));
  for (const entry of entries.bodies(speaking)) {
    const message = messageOf(entry);
    const seen = message && edits.has(entry.id) ? edited(message, edits.get(entry.id)) : message;
    if (seen) items.push({ entryId: entry.id, message: seen });
  }
  return items;
}

/** How many messages `contextOf` would give, told without reading most of them; undefined where an edit may hide some. */
export function countOf(shown: readonly EntryNode[], entries: Entries): number | undefined {
  let count = 0;
  for (const [i, node] of shown.entries()) {
    if (node.type === "context_edit") return undefined;
    if (!speaks(node) || (node.type === "compaction" && i > 0)) continue;
    const isSure = node.type === "custom_message" || (node.role !== undefined && SURE_ROLES.has(node.role));
    if (isSure || (node.role !== "system" && messageOf(entries.body(node)))) count++;
  }
  return count;
}

/** Whatever else such a message holds, it is one for the model. */
const SURE_ROLES: ReadonlySet<string> = new Set(["user", "assistant", "toolResult", "bashExecution", "custom"]);

/** Whether such an entry can give a message at all. */
function speaks({ type }: EntryNode): boolean {
  return type === "message" || type === "custom_message" || type === "branch_summary" || type === "compaction";
}

/** Whether appending such an entry changes more of the context than its end. */
export function changesContext({ type }: EntryNode): boolean {
  return type === "compaction" || type === "context_edit";
}

/** The message that one entry gives to the context, if any. */
export function messageOf(entry: Entry): AgentMessage | undefined {
  const timestamp = Date.parse(entry.timestamp) || 0;
  switch (entry.type) {
    case "message":
      return soundMessage(entry.message);
    case "custom_message": {
      const { customType, content, details } = entry;
      return soundMessage({ role: "custom", customType, content, display: entry.display ?? true, ...(details !== undefined && { details }), timestamp });
    }
    case "branch_summary":
      return entry.summary ? soundMessage({ role: "branchSummary", summary: entry.summary, fromId: entry.fromId, timestamp }) : undefined;
    case "compaction":
      return soundMessage({ role: "compactionSummary", summary: entry.summary, tokensBefore: entry.tokensBefore ?? 0, timestamp });
    default:
      return undefined;
  }
}

function edited(message: AgentMessage, replacement: unknown): AgentMessage | undefined {
  if (replacement === null) return undefined;
  const content = (replacement as { content?: unknown } | undefined)?.content;
  const isEditable = message.role === "user" || message.role === "custom" || message.role === "assistant" || message.role === "toolResult";
  if (!isEditable || (typeof content !== "string" && !Array.isArray(content))) return message;
  return soundMessage({ ...message, content });
}
