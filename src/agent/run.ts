import { logBug } from "../base/log.ts";
import type { Failure } from "../llm/failure.ts";
import type { AgentMessage } from "../session/message.ts";
import { loop, type LoopContext, type LoopEnd } from "./loop.ts";
import { planRetry, waitFor, type RetrySettings } from "./retry.ts";

/** How a run ended, as `agent_settled` tells it. */
export interface RunEnd {
  aborted: boolean;
  promptIds: (string | number)[];
  stopReason: string;
  errorMessage?: string;
}

/** What a run asks of its agent, beside what each turn needs. */
export interface RunHost extends Omit<LoopContext, "signal" | "graceMs" | "answers" | "answered" | "because" | "between"> {
  /** Read at each failure: they may be changed while the run goes on. */
  retry(): RetrySettings;
  /** Makes room when the context is nearly full; gives whether there is room, or nothing when there was. Must not throw. */
  compactIfFull(signal: AbortSignal): Promise<boolean> | undefined;
  /** Makes room after the model refused the context as too long; gives whether there is room now. Must not throw. */
  compactAfterOverflow(failure: Failure, signal: AbortSignal): Promise<boolean>;
  /** Whether an overflow would be answered by a compaction. */
  compactsOnOverflow(): boolean;
  /** The run is over: nothing of it comes after this but its `agent_settled`. Must not throw. */
  over(run: Run, end: RunEnd): void;
}

/** How a run begins: with messages that stand in the transcript already, or with what waits in the queues. */
export interface Opening {
  messages: readonly AgentMessage[];
  requestId?: string | number | undefined;
}

/** How long after an abort tools and model streams may go on before they are left alone. */
const GRACE_MS = 3000;

/** A run from its acceptance to rest: loops, with retries and compactions between them. It ends exactly once. */
export class Run {
  /** Resolves when the run is over and told. */
  readonly ended: Promise<RunEnd>;
  readonly #abort = new AbortController();
  readonly #promptIds: (string | number)[] = [];
  readonly #context: LoopContext;
  #retryWait: AbortController | undefined;
  #graceMs = GRACE_MS;
  /** Retries since the last answer that did not fail. */
  #attempt = 0;
  /** An overflow was answered by a compaction, and no answer has come since. */
  #madeRoom = false;
  /** Making room failed: it is not tried again before every turn. */
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

  get isAborted(): boolean {
    return this.#abort.signal.aborted;
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
      end = this.#ended(await this.#loops());
    } catch (error) {
      logBug("a run", error);
      if (this.#isOpen) this.host.emit({ type: "agent_end", messages: [], willRetry: false });
      end = { aborted: this.#abort.signal.aborted, promptIds: this.#promptIds, stopReason: "error", errorMessage: `Internal error: ${error instanceof Error ? error.message : String(error)}` };
    }
    this.host.over(this, end);
    this.#end(end);
  }

  #ended({ message, fault }: LoopEnd): RunEnd {
    const aborted = this.#abort.signal.aborted;
    const stopReason = aborted ? "aborted" : fault === undefined ? message.stopReason : "error";
    const errorMessage = fault ?? (stopReason === "error" ? message.errorMessage : undefined);
    return { aborted, promptIds: this.#promptIds, stopReason, ...(errorMessage !== undefined && { errorMessage }) };
  }

  async #loops(): Promise<LoopEnd> {
    const { signal } = this.#abort;
    let opening = this.opening.messages;
    let isDue = opening.length > 0;
    const room = signal.aborted ? undefined : this.#makeRoom();
    if (room) await room;
    for (;;) {
      this.#isOpen = true;
      const end = await loop(this.#context, opening, isDue);
      opening = [];
      isDue = await this.#after(end);
      if (signal.aborted || end.fault !== undefined) return end;
      if (!isDue && !this.host.queue.size) return end;
    }
  }

  /** Tells the end of a loop and does what it calls for; gives whether the same answer is asked for again. */
  async #after(end: LoopEnd): Promise<boolean> {
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
    if (failure.kind === "overflow" && host.compactsOnOverflow() && !this.#madeRoom) {
      over(true);
      this.#madeRoom = await host.compactAfterOverflow(failure, signal);
      return this.#madeRoom;
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

  /** Nothing to wait for in the common case. */
  #makeRoom(): Promise<void> | undefined {
    if (this.#staysFull) return undefined;
    return this.host.compactIfFull(this.#abort.signal)?.then((hasRoom) => { this.#staysFull = !hasRoom; });
  }

  /** What the words of a failure leave open: why it is not tried again. */
  #because(failure: Failure): string | undefined {
    if (failure.kind === "overflow") {
      if (this.#madeRoom) return "the context is still too long after it was compacted once: shorten the request, start a new session or use a model with a larger context window";
      return this.host.compactsOnOverflow() ? undefined : "automatic compaction is off";
    }
    const plan = planRetry(failure, this.#attempt + 1, this.host.retry());
    return "because" in plan ? plan.because : undefined;
  }

  async #waitForRetry(delayMs: number, errorMessage: string): Promise<boolean> {
    const wait = new AbortController();
    const { signal } = this.#abort;
    const stop = () => wait.abort();
    signal.addEventListener("abort", stop, { once: true });
    this.#retryWait = wait;
    this.#attempt++;
    this.host.emit({ type: "auto_retry_start", attempt: this.#attempt, maxAttempts: this.host.retry().maxRetries, delayMs, errorMessage });
    const isTime = await waitFor(delayMs, wait.signal);
    this.#retryWait = undefined;
    signal.removeEventListener("abort", stop);
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
