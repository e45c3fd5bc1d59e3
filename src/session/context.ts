import type { Entry } from "./entry.ts";
import type { AgentMessage } from "./message.ts";

/** A message of the context and the entry that it comes from. */
export interface ContextItem {
  entryId: string;
  message: AgentMessage;
}

/**
 * What one entry gives to the context, if anything. `system` messages (pi keeps its prompt in them) give nothing:
 * the prompt is ours to say. Content that is missing or null becomes empty.
 */
export function messageOf(entry: Entry): AgentMessage | undefined {
  switch (entry.type) {
    case "message":
      return sound(entry.message);
    case "custom_message": {
      const message: AgentMessage = { role: "custom", customType: entry.customType, content: entry.content ?? [], display: entry.display ?? true, timestamp: time(entry) };
      return entry.details === undefined ? message : { ...message, details: entry.details };
    }
    case "branch_summary":
      return entry.summary ? { role: "branchSummary", summary: entry.summary, fromId: entry.fromId, timestamp: time(entry) } : undefined;
    case "compaction":
      return { role: "compactionSummary", summary: entry.summary ?? "", tokensBefore: entry.tokensBefore ?? 0, timestamp: time(entry) };
    default:
      return undefined;
  }
}

/**
 * The context of a branch, given from its root to its leaf: the summary of its last compaction and what that kept,
 * or everything, with the edits of that part applied (of several of one entry the last counts).
 */
export function contextOf(branch: readonly Entry[]): ContextItem[] {
  const shown = shownPart(branch);
  const edits = new Map<string, unknown>();
  for (const entry of shown) if (entry.type === "context_edit") edits.set(entry.targetId, entry.replacement);
  const items: ContextItem[] = [];
  for (const [i, entry] of shown.entries()) {
    // An older compaction within the kept part is history, its summary is in the newer one.
    if (entry.type === "compaction" && i > 0) continue;
    const message = messageOf(entry);
    const edited = message && edits.has(entry.id) ? withContent(message, edits.get(entry.id)) : message;
    if (edited) items.push({ entryId: entry.id, message: edited });
  }
  return items;
}

/** Whether appending such an entry changes more of the context than its end. */
export function changesContext(entry: Entry): boolean {
  return entry.type === "compaction" || entry.type === "context_edit";
}

/** The last compaction first, then what it kept and all that came after it; without one the whole branch. */
function shownPart(branch: readonly Entry[]): readonly Entry[] {
  const at = branch.findLastIndex((entry) => entry.type === "compaction");
  const compaction = branch[at];
  if (compaction?.type !== "compaction") return branch;
  const kept = branch.findIndex((entry) => entry.id === compaction.firstKeptEntryId);
  return [compaction, ...(kept < 0 ? [] : branch.slice(kept, at)), ...branch.slice(at + 1)];
}

function withContent(message: AgentMessage, replacement: unknown): AgentMessage | undefined {
  if (replacement === null) return undefined;
  const content = (replacement as { content?: unknown } | undefined)?.content;
  if (typeof content !== "string" && !Array.isArray(content)) return message;
  switch (message.role) {
    case "user":
    case "custom":
      return { ...message, content: content as typeof message.content };
    case "assistant":
    case "toolResult":
      return { ...message, content: typeof content === "string" ? [{ type: "text", text: content }] : content } as AgentMessage;
    default:
      return message;
  }
}

function sound(message: AgentMessage | null | undefined): AgentMessage | undefined {
  if (typeof message !== "object" || message === null || typeof message.role !== "string" || message.role === "system") return undefined;
  if ((message.role === "user" || message.role === "assistant" || message.role === "toolResult" || message.role === "custom") && message.content == null) return { ...message, content: [] } as AgentMessage;
  return message;
}

function time(entry: Entry): number {
  return Date.parse(entry.timestamp) || 0;
}
