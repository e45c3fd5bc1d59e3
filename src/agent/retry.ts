import { sleepUntilAborted } from "../base/wait.ts";
import { durationWords } from "../base/text.ts";
import { isRetryable, type Failure } from "../llm/failure.ts";

export interface RetrySettings {
  enabled: boolean;
  maxRetries: number;
  /** The first wait; each further one is twice as long. */
  baseDelayMs: number;
  /** No wait is longer; a provider that asks for more is given up on at once. */
  maxDelayMs: number;
}

/** What to do about a failure: wait and ask again, or end, perhaps with a word on why. */
export type RetryPlan = { delayMs: number } | { because?: string };

/**
 * Decides about the failure of a model. `attempt` counts from 1: the retry that would come next.
 * A provider's own wait (Retry-After) is kept and never shortened; others grow and are spread by chance,
 * so that many clients of one server do not come back together.
 */
export function planRetry(failure: Failure, attempt: number, settings: RetrySettings, random: () => number = Math.random): RetryPlan {
  if (!isRetryable(failure) || !settings.enabled) return {};
  const asked = failure.retryAfterMs;
  if (asked !== undefined && asked > settings.maxDelayMs) {
    return { because: `the provider asks to wait ${durationWords(asked)}, more than the ${durationWords(settings.maxDelayMs)} that retry.maxDelayMs allows` };
  }
  if (attempt > settings.maxRetries) return {};
  if (asked !== undefined && asked > 0) return { delayMs: Math.ceil(asked * (1 + 0.1 * random())) };
  const backoff = Math.min(settings.baseDelayMs * 2 ** Math.min(attempt - 1, 30), settings.maxDelayMs);
  return { delayMs: Math.max(1, Math.round(backoff * (0.75 + 0.25 * random()))) };
}

/** Waits; gives false when the signal aborted first. */
export function waitFor(ms: number, signal: AbortSignal): Promise<boolean> {
  return sleepUntilAborted(ms, signal).then(() => true, () => false);
}
