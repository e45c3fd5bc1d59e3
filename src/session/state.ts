import type { EntryNode } from "./entries.ts";
import type { Entry } from "./entry.ts";
import type { Journal } from "./journal.ts";

/** What the active branch says besides its messages. */
export interface BranchState {
  /** The model that it was last set to or answered by. */
  model?: { provider: string; modelId: string };
  thinkingLevel?: string;
  /** The state of the last `todo_snapshot`. */
  todos?: unknown;
}

/** Takes over what one entry, the newest of its branch, says. */
export function advance(state: BranchState, entry: Entry): void {
  switch (entry.type) {
    case "model_change":
      return setModel(state, entry.provider, entry.modelId);
    case "message":
      if (entry.message?.role === "assistant") setModel(state, entry.message.provider, entry.message.model);
      return;
    case "thinking_level_change":
      if (typeof entry.thinkingLevel === "string") state.thinkingLevel = entry.thinkingLevel;
      return;
    case "todo_snapshot":
      state.todos = entry.state;
  }
}

const FIELDS = { model_change: "model", message: "model", thinking_level_change: "thinkingLevel", todo_snapshot: "todos" } as const;

/** The state at a leaf. Only the entries that can matter are looked into, and no longer than there are some. */
export function stateAt(leaf: EntryNode | null, { entries, ledger }: Journal): BranchState {
  const state: BranchState = {};
  const wanted = new Set(Object.entries(FIELDS).flatMap(([type, field]) => (ledger.types.has(type) ? [field] : [])));
  for (let node = leaf; node && wanted.size > 0; node = node.parent) {
    const field = FIELDS[node.type as keyof typeof FIELDS];
    if (!wanted.has(field) || (node.type === "message" && node.role !== "assistant")) continue;
    const said: BranchState = {};
    advance(said, entries.body(node));
    if (!(field in said)) continue;
    Object.assign(state, said);
    wanted.delete(field);
  }
  return state;
}

function setModel(state: BranchState, provider: unknown, modelId: unknown): void {
  if (typeof provider === "string" && provider && typeof modelId === "string" && modelId) state.model = { provider, modelId };
}
