import { noUsage, textOf, type Usage } from "../llm/message.ts";
import type { Failure } from "../llm/failure.ts";
import type { ModelRequest, StreamResult } from "../llm/model.ts";
import { filesText, filesTouched, type TouchedFiles, withoutFiles } from "./compaction-files.ts";
import { requestTokens, type SummaryRequestOptions, summaryRequest } from "./compaction-text.ts";
import type { AgentEvent, CompactionReason } from "./events.ts";
import { planRetry, type RetrySettings, waitFor } from "./retry.ts";

/** How often a refused request is made smaller before it is given up. */
const MAX_SHRINKS = 4;

export type SummaryEvent = Extract<AgentEvent, { type: `summarization_${string}` }>;

export interface SummaryOptions extends SummaryRequestOptions {
  /** `details` of the compaction that the context begins with, whatever they are. */
  details?: unknown;
  reason: CompactionReason;
  /** Asks the model. Never rejects; ends with `stopReason` "aborted" once `signal` has aborted. */
  ask(request: ModelRequest): Promise<StreamResult>;
  retry: RetrySettings;
  signal: AbortSignal;
  emit(event: SummaryEvent): void;
}

/** `usage` is what all requests together cost, failed ones too. */
export type Summary =
  | { ok: true; summary: string; usage: Usage; details: TouchedFiles }
  | { ok: false; aborted: boolean; errorMessage: string; usage: Usage };

/**
 * Gets the summary of what was cut off. Failures are retried as those of runs are; a request that the provider finds
 * too long is made shorter and asked again. What is empty, cut off or failed is no summary: the caller then leaves
 * everything as it was. Never rejects.
 */
export async function summarise(o: SummaryOptions): Promise<Summary> {
  const usage = noUsage();
  const failed = (errorMessage: string): Summary => ({ ok: false, aborted: o.signal.aborted, errorMessage: o.signal.aborted ? "Compaction was aborted" : errorMessage, usage });
  let window = o.window;
  let shrinks = 0;
  let retries = 0;
  try {
    for (;;) {
      if (o.signal.aborted) return failed("");
      const request = summaryRequest({ ...o, window });
      const { message, failure } = await o.ask(request);
      addUsage(usage, message.usage);
      if (o.signal.aborted || message.stopReason === "aborted") return failed("The request for the summary was aborted");
      if (message.stopReason !== "error" && !failure) {
        const text = withoutFiles(textOf(message.content)).trim();
        if (message.stopReason === "length") return failed("The summary was cut off by the model's output limit; the conversation stays as it is");
        if (text === "") return failed("The model gave an empty summary; the conversation stays as it is");
        const details = filesTouched(o.cut.toSummarise, o.details);
        return { ok: true, summary: text + filesText(details), usage, details };
      }
      const words = failure?.message ?? message.errorMessage ?? "the model failed";
      if (failure?.kind === "overflow" && shrinks < MAX_SHRINKS) {
        shrinks += 1;
        window = smaller(failure, requestTokens(request));
        continue;
      }
      const plan = failure ? planRetry(failure, retries + 1, o.retry) : {};
      if (!("delayMs" in plan)) return failed(`The summary failed: ${words}${plan.because ? ` (${plan.because})` : ""}`);
      retries += 1;
      o.emit({ type: "summarization_retry_scheduled", attempt: retries, maxAttempts: o.retry.maxRetries, delayMs: plan.delayMs, errorMessage: words });
      if (!(await waitFor(plan.delayMs, o.signal))) return failed("");
      o.emit({ type: "summarization_retry_attempt_start", source: "compaction", reason: o.reason });
    }
  } finally {
    if (retries > 0) o.emit({ type: "summarization_retry_finished" });
  }
}

/** A window that the provider named is believed when the request was larger; otherwise the estimate was too low, and half must do. */
function smaller({ contextWindow }: Failure, asked: number): number {
  return contextWindow !== undefined && contextWindow > 0 && contextWindow < asked ? contextWindow : Math.floor(asked / 2);
}

function addUsage(sum: Usage, one: Usage): void {
  for (const key of ["input", "output", "cacheRead", "cacheWrite", "totalTokens"] as const) sum[key] += one[key];
  if (one.reasoning !== undefined) sum.reasoning = (sum.reasoning ?? 0) + one.reasoning;
  for (const key of ["input", "output", "cacheRead", "cacheWrite", "total"] as const) sum.cost[key] += one.cost[key];
}
