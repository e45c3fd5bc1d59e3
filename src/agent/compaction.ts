import { logBug } from "../base/log.ts";
import { Refusal } from "../base/refusal.ts";
import { wordsOf } from "../base/text.ts";
import type { Failure } from "../llm/failure.ts";
import type { Usage } from "../llm/message.ts";
import type { ModelSpec, ThinkingLevel } from "../llm/model.ts";
import { clampLevel } from "../llm/thinking.ts";
import type { Session } from "../session/session.ts";
import { ask, type Stream } from "./ask.ts";
import { AUTOMATIC_MIN_TOKENS, findCut, type Cut } from "./compaction-cut.ts";
import { limits } from "./compaction-estimate.ts";
import type { ContextWatch } from "./context-use.ts";
import type { AgentEvent, CompactionReason, CompactionResult } from "./events.ts";
import type { RetrySettings } from "./retry.ts";
import { isOfSystem } from "./stored.ts";

export interface CompactionHost {
  session(): Session;
  context: ContextWatch;
  settings(): { reserveTokens: number; keepRecentTokens: number };
  /** The model to ask, and how much it thinks. */
  choice(): { spec: ModelSpec; level: ThinkingLevel };
  stream: Stream;
  retry(): RetrySettings;
  emit(event: AgentEvent): void;
}

export interface CompactionOptions {
  reason: CompactionReason;
  signal: AbortSignal;
  graceMs(): number;
  instructions?: string | undefined;
}

/** What helps against a context that stays too long. */
export const WAYS_OUT = "shorten the request, start a new session or use a model with a larger context window";

/** Replaces the older part of the context by a summary: one at a time, and never by an empty or failed one. */
export class Compaction {
  #isRunning = false;

  constructor(private readonly host: CompactionHost) {}

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Whether the context is so full that it should be compacted, and can be. */
  isDue(): boolean {
    const { threshold } = this.#limits();
    return threshold !== null && this.host.context.tokens(this.host.session()) > threshold && this.#cut("threshold") !== undefined;
  }

  /** Why an overflow is not answered by a compaction; undefined when it is. */
  whyNoRoom(isAutomatic: boolean): string | undefined {
    if (!isAutomatic) return "automatic compaction is off";
    return this.#cut("overflow") ? undefined : `there is nothing to compact: ${WAYS_OUT}`;
  }

  /** Remembers what an overflow told about the model's window. */
  learn(failure: Failure): void {
    this.host.context.learn(this.host.choice().spec, failure);
  }

  /** Refused, with the words for people, when there is nothing to compact, on abort, and when no summary could be had. */
  async run(o: CompactionOptions): Promise<CompactionResult> {
    if (this.#isRunning) throw new Refusal("busy", "A compaction is under way.");
    const { spec } = this.host.choice();
    const cut = this.#cut(o.reason);
    if (!cut) throw new Refusal("unavailable", "Nothing to compact (session too small)");
    this.#isRunning = true;
    this.host.emit({ type: "compaction_start", reason: o.reason });
    let result: CompactionResult | undefined;
    let errorMessage: string | undefined;
    try {
      result = await this.#compact(o, spec, cut);
      return result;
    } catch (error) {
      errorMessage = wordsOf(error);
      if (isOfSystem(error)) throw new Refusal("unavailable", errorMessage);
      if (!(error instanceof Refusal)) logBug("a compaction", error);
      throw error;
    } finally {
      this.#isRunning = false;
      const aborted = !result && o.signal.aborted;
      this.host.emit({
        type: "compaction_end", reason: o.reason, ...(result && { result }), aborted, willRetry: result !== undefined && o.reason === "overflow",
        ...(errorMessage !== undefined && !aborted && { errorMessage }),
      });
    }
  }

  async #compact({ reason, signal, graceMs, instructions }: CompactionOptions, spec: ModelSpec, cut: Cut): Promise<CompactionResult> {
    const { host } = this;
    const { summarise } = await import("./compaction-summary.ts");
    const session = host.session();
    const tokensBefore = host.context.tokens(session);
    const summary = await summarise({
      cut,
      reason,
      signal,
      ...(instructions !== undefined && { instructions }),
      window: host.context.window(spec),
      maxTokens: spec.model.maxTokens,
      reserveTokens: host.settings().reserveTokens,
      thinkingLevel: host.choice().level === "off" ? "off" : clampLevel(spec, "low"),
      details: detailsBefore(session),
      ask: (request) => ask(host.stream, spec, () => request, { signal, graceMs, emit: () => {} }),
      retry: host.retry(),
      emit: host.emit,
    });
    if (!summary.ok) {
      this.#pay(spec, summary.usage);
      throw new Refusal(summary.aborted ? "cancelled" : "unavailable", summary.errorMessage);
    }
    const made = { summary: summary.summary, firstKeptEntryId: cut.firstKeptEntryId, tokensBefore, usage: summary.usage, details: summary.details };
    session.append({ type: "compaction", ...made });
    return { ...made, estimatedTokensAfter: host.context.tokens(session) };
  }

  /** What a failed attempt has cost is counted too. */
  #pay({ model }: ModelSpec, usage: Usage): void {
    if (!usage.totalTokens && !usage.cost.total) return;
    try {
      this.host.session().append({ type: "usage", kind: "compaction", provider: model.provider, model: model.id, usage });
    } catch {
      // The attempt has failed already, with words of its own.
    }
  }

  #limits() {
    return limits(this.host.context.window(this.host.choice().spec), this.host.settings());
  }

  #cut(reason: CompactionReason): Cut | undefined {
    return findCut(this.host.session().contextItems(), this.#limits().keepTokens, {
      isOverflow: reason === "overflow",
      ...(reason !== "manual" && { minTokens: AUTOMATIC_MIN_TOKENS }),
    });
  }
}

/** The details of the compaction that the context begins with. */
function detailsBefore(session: Session): unknown {
  const first = session.contextItems()[0];
  const entry = first && session.entry(first.entryId);
  return entry?.type === "compaction" ? entry.details : undefined;
}
