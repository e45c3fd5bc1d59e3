import type { Blocks, Entry } from "./entry.ts";

/** A message that was accepted and is neither delivered nor handed back. */
export interface QueuedMessage {
  /** The id of its `queue` entry; goes into `queueId` of the message entry that delivers it. */
  id: string;
  kind: "steer" | "followUp";
  content: string | Blocks;
  /** The id of the request that brought it. */
  requestId?: string | number;
}

/** The messages that wait, in the order of their acceptance, from the entries of a file in their order. */
export class PendingQueue {
  readonly #waiting = new Map<string, QueuedMessage>();
  /** Delivered or cleared. Lines of a damaged file may be doubled or stand in any order, and a message is delivered once. */
  readonly #gone = new Set<string>();

  take(entry: Entry): void {
    if (entry.type === "message") {
      if (typeof entry.queueId === "string") this.#drop(entry.queueId);
    } else if (entry.type !== "queue") return;
    else if (entry.op === "add") this.#add(entry);
    else if (Array.isArray(entry.ids)) for (const id of entry.ids) this.#drop(id);
  }

  list(): QueuedMessage[] {
    return [...this.#waiting.values()];
  }

  #add(entry: Entry & { type: "queue"; op: "add" }): void {
    const { kind, content, requestId } = entry;
    // Its id may have been replaced since, see migrate.ts.
    const id = entry.queueId ?? entry.id;
    if ((kind !== "steer" && kind !== "followUp") || (typeof content !== "string" && !Array.isArray(content)) || this.#gone.has(id)) return;
    this.#waiting.set(id, requestId === undefined ? { id, kind, content } : { id, kind, content, requestId });
  }

  #drop(id: string): void {
    this.#waiting.delete(id);
    this.#gone.add(id);
  }
}
