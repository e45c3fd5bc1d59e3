import { changesContext, contextOf, countOf, messageOf, shownNodes, type ContextItem } from "./context.ts";
import type { EntryNode } from "./entries.ts";
import { movesLeaf, type Entry } from "./entry.ts";
import type { Journal } from "./journal.ts";
import type { AgentMessage } from "./message.ts";
import { advance, stateAt, type BranchState } from "./state.ts";
import { upwards } from "./tree.ts";

/** The active branch of a session: its leaf, what it says, and the context that it gives, which is made when it is asked for and kept up from then on. */
export class Branch {
  #leaf: EntryNode | null;
  #items: ContextItem[] | undefined;
  #messages: AgentMessage[] = [];
  /** Of messages, while they have not been made. */
  #count: number | undefined;
  readonly #state: BranchState;

  constructor(private readonly journal: Journal) {
    this.#leaf = journal.entries.nodes.findLast(({ type }) => movesLeaf(type)) ?? null;
    this.#state = stateAt(this.#leaf, journal);
    this.#releaseHidden();
  }

  get leaf(): EntryNode | null {
    return this.#leaf;
  }

  /** What it says besides its messages. */
  get state(): Readonly<BranchState> {
    return this.#state;
  }

  /** From its root to its leaf. */
  nodes(): EntryNode[] {
    return [...upwards(this.#leaf)].reverse();
  }

  /** The context, with the entries that its messages come from. */
  items(): readonly ContextItem[] {
    if (!this.#items) {
      this.#items = contextOf(this.#shown(), this.journal.entries);
      this.#messages = this.#items.map(({ message }) => message);
    }
    return this.#items;
  }

  /** The same array while the context only grows. */
  messages(): readonly AgentMessage[] {
    this.items();
    return this.#messages;
  }

  /** How many `messages()` has, without making them of a long session. */
  get messageCount(): number {
    if (this.#items) return this.#items.length;
    return (this.#count ??= countOf(this.#shown(), this.journal.entries) ?? this.items().length);
  }

  /** Goes on to an entry that was appended below the leaf. */
  moveTo(node: EntryNode, entry: Entry): void {
    this.#leaf = node;
    advance(this.#state, entry);
    if (changesContext(node)) {
      this.#items = this.#count = undefined;
      if (node.type === "compaction") this.#releaseHidden();
      return;
    }
    const message = messageOf(entry);
    if (!message) return;
    if (this.#count !== undefined) this.#count++;
    if (!this.#items) return;
    this.#items.push({ entryId: node.id, message });
    this.#messages.push(message);
  }

  #shown(): EntryNode[] {
    return shownNodes(this.#leaf, this.journal.entries);
  }

  /** What the model does not see any more need not be in memory. */
  #releaseHidden(): void {
    const { entries, ledger } = this.journal;
    if (!ledger.types.has("compaction")) return;
    const shown = new Set(this.#shown());
    entries.release(entries.nodes.filter((node) => !shown.has(node)));
  }
}
