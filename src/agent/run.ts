import { logBug } from "../base/log.ts";
import { Refusal } from "../base/refusal.ts";
import { wordsOf } from "../base/text.ts";
import type { Failure } from "../llm/failure.ts";
import type { AssistantMessage } from "../llm/message.ts";
import type { AgentMessage } from "../session/message.ts";
import { WAYS_OUT } from "./compaction.ts";
import { planRetry, waitFor, type RetrySettings } from "./retry.ts";
import { turns, type TurnsContext, type TurnsEnd } from "./turns.ts";

/** How a run ended, as `agent_settled` tells it. */
export interface RunEnd {
  aborted: boolean;
  promptIds: (string | number)[];
  stopReason: string;
  errorMessage?: string;
}

/** What a run asks of its agent, beside what each turn needs. */
export interface RunHost extends Omit<TurnsContext, "signal" | "graceMs" | "answers" | "answered" | "because" | "between"> {
  /** Read at each failure: they may be changed while the run goes on. */
  retry(): RetrySettings;
  /** Learns from a failure what the model does not take; gives whether a request would be another now. */
  learned(failure: Failure, from: AssistantMessage): boolean;
  /** Whether the context should be compacted now, by the settings. Must not throw. */
  isFull(): boolean;
  /** Why an overflow is not answered by a compaction; undefined when it is. */
  whyNoRoom(): string | undefined;
  /** An overflow may tell how large the window is. */
  overflowed(failure: Failure): void;
  /** Compacts; gives whether it could. Must not reject. */
  compact(reason: "threshold" | "overflow", signal: AbortSignal, graceMs: () => number): Promise<boolean>;
  /** The run is over: nothing of it comes after this but its `agent_settled`. Must not throw. */
  over(run: Run, end: RunEnd): void;
}

/** How a run begins: with messages that stand in the transcript already, or with what waits in the queues. */
export interface Opening {
  messages: readonly AgentMessage[];
  requestId?: string | number | undefined;
}

/** How long after an abort tools and model streams may go on before they are left alone. */
export const GRACE_MS = 3000;

/** A run from its acceptance to rest: rounds of turns, with retries and compactions between them. It ends exactly once. */
export class Run {
  /** Resolves when the run is over and told. */
  readonly ended: Promise<RunEnd>;
  readonly #abort = new AbortController();
  readonly #promptIds: (string | number)[] = [];
  readonly #context: TurnsContext;
  #retryWait: AbortController | undefined;
  #graceMs = GRACE_MS;
  /** Retries since the last answer that did not fail. */
  #attempt = 0;
  /** An overflow was answered by a compaction, and no answer has come since. */
  #madeRoom = false;
  /** Answers since the context was compacted in this run. */
  #answers = Number.POSITIVE_INFINITY;
  /** Compacting failed or did not help: it is not tried again before every turn. */
  #staysFull = false;
  #isStarted = false;
  /** `agent_start` was told, `agent_end` was not. */
  #isOpen = false;
  #end!: (end: RunEnd) => void;

  constructor(
    private readonly host: RunHost,
    private readonly opening: Opening,
  ) {
    this.ended = new Promise((resolve) => { this.#end = resolve; });
    if (opening.requestId !== undefined) this.#promptIds.push(opening.requestId);
    this.#context = {
      ...host,
      signal: this.#abort.signal,
      graceMs: () => this.#graceMs,
      answers: (requestId) => void this.#promptIds.push(requestId),
      answered: (message) => {
        if (message.stopReason === "error" || message.stopReason === "aborted") return;
        this.#answers++;
        this.#madeRoom = false;
        this.#closeRetry(true);
      },
      because: (failure) => this.#because(failure),
      between: () => this.#makeRoom(),
    };
  }

  /** Its first event comes before this returns. Only the first call counts. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    void this.#run();
  }

  /** Ends the run as soon as possible, also one that has not started: that one ends right after its start. */
  abort(graceMs = GRACE_MS): void {
    this.#graceMs = graceMs;
    this.#abort.abort();
  }

  /** Gives up on a retry that is waited for. */
  abortRetry(): void {
    this.#retryWait?.abort();
  }

  async #run(): Promise<void> {
    let end: RunEnd;
    try {
      end = this.#ended(await this.#turns());
    } catch (error) {
      const words = wordsOf(error);
      const isRefused = error instanceof Refusal;
      if (!isRefused) logBug("a run", error);
      if (this.#isOpen) this.host.emit({ type: "agent_end", messages: [], willRetry: false });
      end = { aborted: this.#abort.signal.aborted, promptIds: this.#promptIds, stopReason: "error", errorMessage: isRefused ? words : `Internal error: ${words}` };
    }
    this.host.over(this, end);
    this.#end(end);
  }

  #ended({ message, fault }: TurnsEnd): RunEnd {
    const aborted = this.#abort.signal.aborted;
    const stopReason = aborted ? "aborted" : fault === undefined ? message.stopReason : "error";
    const errorMessage = fault ?? (stopReason === "error" ? message.errorMessage : undefined);
    return { aborted, promptIds: this.#promptIds, stopReason, ...(errorMessage !== undefined && { errorMessage }) };
  }

  async #turns(): Promise<TurnsEnd> {
    const { signal } = this.#abort;
    let opening = this.opening.messages;
    let isDue = opening.length > 0;
    const room = signal.aborted ? undefined : this.#makeRoom();
    if (room) await room;
    for (;;) {
      this.#isOpen = true;
      const end = await turns(this.#context, opening, isDue);
      opening = [];
      isDue = await this.#after(end);
      if (signal.aborted || end.fault !== undefined) return end;
      if (!isDue && !this.host.queue.size) return end;
    }
  }

  /** Tells the end of a round and does what it calls for; gives whether the same answer is asked for again. */
  async #after(end: TurnsEnd): Promise<boolean> {
    const { host } = this;
    const { signal } = this.#abort;
    const { messages, failure, message, fault } = end;
    const over = (willRetry: boolean) => {
      this.#isOpen = false;
      host.emit({ type: "agent_end", messages, willRetry });
    };
    if (signal.aborted || fault !== undefined) {
      this.#closeRetry(false, fault ?? "Aborted");
      over(false);
      return false;
    }
    if (!failure) {
      if (message.stopReason === "error") this.#closeRetry(false, message.errorMessage);
      over(false);
      await this.#makeRoom();
      return false;
    }
    if (failure.kind === "overflow" && !this.#madeRoom && host.whyNoRoom() === undefined) {
      over(true);
      this.#madeRoom = await this.#compact("overflow");
      return this.#madeRoom;
    }
    if (host.learned(failure, message)) {
      over(true);
      return true;
    }
    const plan = planRetry(failure, this.#attempt + 1, host.retry());
    if (!("delayMs" in plan)) {
      this.#closeRetry(false, message.errorMessage);
      over(false);
      return false;
    }
    over(true);
    return this.#waitForRetry(plan.delayMs, message.errorMessage ?? failure.message);
  }

  /** Compacts a context that is nearly full. Nothing to wait for in the common case. */
  #makeRoom(): Promise<void> | undefined {
    if (this.#staysFull || !this.host.isFull()) return undefined;
    if (this.#answers === 1) {
      // It was compacted, and one answer later it is full again: once more would be a loop.
      this.#staysFull = true;
      this.host.emit({ type: "notice", level: "warning", code: "context_full", message: "The context is nearly full though it was just compacted. A new session or a model with a larger context window gives room." });
      return undefined;
    }
    return this.#compact("threshold").then((hasRoom) => { this.#staysFull = !hasRoom; });
  }

  async #compact(reason: "threshold" | "overflow"): Promise<boolean> {
    const isDone = await this.host.compact(reason, this.#abort.signal, () => this.#graceMs);
    if (isDone) this.#answers = 0;
    return isDone;
  }

  /** What the words of a failure leave open: why it is not tried again. */
  #because(failure: Failure): string | undefined {
    if (failure.kind === "overflow") {
      this.host.overflowed(failure);
      return this.#madeRoom ? `the context is still too long after it was compacted once: ${WAYS_OUT}` : this.host.whyNoRoom();
    }
    const plan = planRetry(failure, this.#attempt + 1, this.host.retry());
    return "because" in plan ? plan.because : undefined;
  }

  async #waitForRetry(delayMs: number, errorMessage: string): Promise<boolean> {
    const wait = new AbortController();
    this.#retryWait = wait;
    this.#attempt++;
    this.host.emit({ type: "auto_retry_start", attempt: this.#attempt, maxAttempts: this.host.retry().maxRetries, delayMs, errorMessage });
    const isTime = await waitFor(delayMs, AbortSignal.any([this.#abort.signal, wait.signal]));
    this.#retryWait = undefined;
    if (!isTime) this.#closeRetry(false, "Retry cancelled");
    return isTime;
  }

  #closeRetry(success: boolean, finalError?: string): void {
    if (!this.#attempt) return;
    const attempt = this.#attempt;
    this.#attempt = 0;
    this.host.emit({ type: "auto_retry_end", success, attempt, ...(finalError !== undefined && { finalError }) });
  }
}
