import type { Refused } from "./refused.ts";

export type FailureKind =
  | "rate_limit" | "overloaded" | "server" | "network" | "timeout"
  | "auth" | "quota" | "overflow" | "bad_request" | "refusal";

/** Why a model request failed (providers.md, Failures). `message` is for people and says what to do where we know. */
export interface Failure {
  kind: FailureKind;
  status?: number;
  code?: string;
  /** How long the provider asks to wait. */
  retryAfterMs?: number;
  /** The context window that an overflow refusal named, in tokens. */
  contextWindow?: number;
  /** What the words say that it cannot take, though the request may hold none of it. */
  refused?: Refused;
  message: string;
}

const RETRIED: ReadonlySet<FailureKind> = new Set(["rate_limit", "overloaded", "server", "network", "timeout"]);

/** Whether the same request may succeed later. */
export function isRetryable(failure: Failure): boolean {
  return RETRIED.has(failure.kind);
}

/** Carries a Failure from where it is noticed to the adapter, which makes the result of it. */
export class RequestFailed extends Error {
  override readonly name = "RequestFailed";
  constructor(readonly failure: Failure) {
    super(failure.message);
  }
}
