import type { AssistantMessage } from "../llm/message.ts";
import type { AgentMessage } from "../session/message.ts";

/** How much of the model's context window the talk fills; null where nobody knows. */
export interface ContextUse {
  tokens: number | null;
  contextWindow: number | null;
  /** 0 to 100 and more. */
  percent: number | null;
}

/**
 * Tokens in the context: what the last answer reported, and an estimate of what came after it. Null when no answer
 * has reported since the context was last compacted.
 */
export function contextTokens(messages: readonly AgentMessage[], estimate: (message: AgentMessage) => number): number | null {
  const summary = messages[0]?.role === "compactionSummary" ? messages[0] : undefined;
  let tokens = 0;
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i];
    if (!message || message === summary) break;
    if (message.role === "assistant" && reported(message) > 0) {
      // What the compaction kept was said, and counted, before it.
      return summary && message.timestamp < summary.timestamp ? null : tokens + reported(message);
    }
    tokens += estimate(message);
  }
  return null;
}

export function contextUse(tokens: number | null, contextWindow: number | null): ContextUse {
  return { tokens, contextWindow, percent: tokens === null || !contextWindow ? null : (tokens / contextWindow) * 100 };
}

function reported({ usage, stopReason }: AssistantMessage): number {
  if (stopReason === "error" || stopReason === "aborted" || !usage) return 0;
  return usage.input + usage.output + usage.cacheRead + usage.cacheWrite || usage.totalTokens || 0;
}
