import { Refusal } from "../base/refusal.ts";
import type { Compaction } from "./compaction.ts";
import type { CompactionResult } from "./events.ts";
import { GRACE_MS } from "./run.ts";

export interface RequestedCompactionHost {
  compaction: Compaction;
  /** Throws a Refusal when no model can be asked. */
  needModel(): void;
  /** Aborts the run that is active; resolves when there is none. */
  endRun(): Promise<unknown>;
  hasQueued(): boolean;
  /** Begins a run of what is queued, unless another one is active. */
  runQueue(): void;
}

/**
 * A compaction that was asked for, from the request to its end, and the run of what was queued meanwhile, right
 * after it. Until then the agent is not at rest.
 */
export class RequestedCompaction {
  #current: { abort: AbortController; graceMs: number; ended: Promise<unknown>; isRunWanted: boolean } | undefined;
  /** The run that comes next. */
  #next: { begun: Promise<void>; isWanted: boolean } | undefined;

  constructor(private readonly host: RequestedCompactionHost) {}

  /** From the request to the end of the compaction. */
  get isActive(): boolean {
    return this.#current !== undefined;
  }

  /** Also true until the run has begun that comes after it. */
  get isPending(): boolean {
    return this.isActive || this.#next !== undefined;
  }

  /** Resolves when nothing of it is pending. */
  async whenOver(): Promise<void> {
    await this.#current?.ended;
    await this.#next?.begun;
  }

  /** A message was queued: it is answered when the compaction has ended. */
  wantRun(): void {
    if (this.#current) this.#current.isRunWanted = true;
  }

  /** Ends it, and lets no run follow; resolves when it has ended. */
  async abort(graceMs: number): Promise<void> {
    const ends = [this.#current?.ended, this.#next?.begun];
    if (this.#current) {
      this.#current.graceMs = graceMs;
      this.#current.isRunWanted = false;
      this.#current.abort.abort();
    }
    if (this.#next) this.#next.isWanted = false;
    await Promise.all(ends);
  }

  /** Refused at once while a compaction is under way. `begun` is called once, when it has begun or cannot. */
  async run(instructions: string | undefined, begun: () => void): Promise<CompactionResult> {
    const { compaction } = this.host;
    if (this.#current || compaction.isRunning) throw new Refusal("busy", "A compaction is under way.");
    this.host.needModel();
    const ended = Promise.withResolvers<void>();
    let hasBegun = false;
    const tellBegun = () => {
      if (!hasBegun) begun();
      hasBegun = true;
    };
    const current = { abort: new AbortController(), graceMs: GRACE_MS, ended: ended.promise, isRunWanted: false };
    this.#current = current;
    try {
      await this.host.endRun();
      const { signal } = current.abort;
      if (signal.aborted) throw new Refusal("cancelled", "Compaction was aborted");
      const result = compaction.run({ reason: "manual", signal, graceMs: () => current.graceMs, instructions });
      tellBegun();
      return await result;
    } finally {
      tellBegun();
      this.#current = undefined;
      if (current.isRunWanted && this.host.hasQueued()) this.#runNext();
      ended.resolve();
    }
  }

  /** After the answer to the compaction has been written: that is what the next turn of the event loop is for. */
  #runNext(): void {
    const begun = Promise.withResolvers<void>();
    const next = { begun: begun.promise, isWanted: true };
    this.#next = next;
    setImmediate(() => {
      this.#next = undefined;
      if (next.isWanted && !this.#current && this.host.hasQueued()) this.host.runQueue();
      begun.resolve();
    });
  }
}
