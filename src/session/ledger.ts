import type { Entry } from "./entry.ts";
import { nameIn } from "./name.ts";
import { PendingQueue } from "./queue.ts";
import { count, noStats } from "./stats.ts";

export interface Label {
  label: string;
  /** ISO 8601, when it was given; empty where a damaged file does not tell it. */
  timestamp: string;
}

/** What the entries of a file say together, whichever branch they are on: each is taken once, in order. */
export class Ledger {
  readonly stats = noStats();
  readonly queue = new PendingQueue();
  /** By the id of the entry that they are on. */
  readonly labels = new Map<string, Label>();
  /** The types that occur. */
  readonly types = new Set<string>();
  name: string | undefined;

  take(entry: Entry): void {
    this.types.add(entry.type);
    count(this.stats, entry);
    switch (entry.type) {
      case "message":
      case "queue":
        return this.queue.take(entry);
      case "session_info":
        this.name = nameIn(entry);
        return;
      case "label":
        if (typeof entry.label === "string" && entry.label) this.labels.set(entry.targetId, { label: entry.label, timestamp: typeof entry.timestamp === "string" ? entry.timestamp : "" });
        else this.labels.delete(entry.targetId);
    }
  }
}
