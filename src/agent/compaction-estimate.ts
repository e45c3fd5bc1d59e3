import type { Usage } from "../llm/message.ts";
import type { ToolSchema } from "../llm/model.ts";
import type { AgentMessage } from "../session/message.ts";
import { bashText } from "./messages-for-model.ts";

/** What an image costs, whatever its size: about what providers ask for one of the largest that they take. */
const IMAGE_TOKENS = 1600;
/** Role, borders and the like of a message. */
const MESSAGE_TOKENS = 4;

/** Tokens of a text, without a tokenizer: one for each four bytes of UTF-8, so other scripts than Latin cost more. */
export function estimateText(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

/** Tokens of a message as the model is sent it; 0 for what it never sees (failed answers, commands that were excluded). */
export function estimateMessage(message: AgentMessage): number {
  switch (message.role) {
    case "user":
    case "custom":
    case "toolResult":
      return MESSAGE_TOKENS + ofContent(message.content);
    case "assistant":
      return message.stopReason === "error" ? 0 : MESSAGE_TOKENS + ofContent(message.content);
    case "bashExecution":
      return message.excludeFromContext ? 0 : MESSAGE_TOKENS + estimateText(bashText(message));
    case "branchSummary":
    case "compactionSummary":
      return MESSAGE_TOKENS + estimateText(message.summary);
    default:
      return 0;
  }
}

function ofContent(content: string | readonly { type: string }[]): number {
  if (typeof content === "string") return estimateText(content);
  let tokens = 0;
  for (const block of content as readonly Block[]) {
    if (block.type === "image") tokens += IMAGE_TOKENS;
    else if (block.type === "toolCall") tokens += estimateText(block.name ?? "") + estimateText(JSON.stringify(block.arguments ?? {}));
    else tokens += estimateText(block.text ?? block.thinking ?? "");
  }
  return tokens;
}

/** Any block; files come from other programs too, so nothing of it is sure. */
interface Block {
  type: string;
  text?: string;
  thinking?: string;
  name?: string;
  arguments?: unknown;
}

/** Tokens of what goes along with every request. */
export function estimateOverhead(systemPrompt: string, tools: readonly ToolSchema[]): number {
  return estimateText(systemPrompt) + (tools.length > 0 ? estimateText(JSON.stringify(tools)) : 0);
}

/** The context after an answer, as its provider counted it. */
function usageTokens(usage: Usage): number {
  return usage.totalTokens || usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
}

/**
 * How full the context is: the last count of a provider and an estimate of what came after it, or an estimate of
 * everything. Each message costs its own length once, however long the conversation is.
 */
export class ContextMeter {
  #overhead = 0;
  #all = 0;
  #measured: number | undefined;
  #after = 0;

  /** Tokens of the system prompt and the tools; they count where no provider has counted yet. */
  setOverhead(tokens: number): void {
    this.#overhead = tokens;
  }

  /**
   * Begins anew with these messages, the whole context. Counts that were made before the compaction that the context
   * begins with are not believed: they are of the longer context.
   */
  reset(messages: Iterable<AgentMessage>): void {
    this.#all = 0;
    this.#measured = undefined;
    this.#after = 0;
    let compactedAt = -Infinity;
    for (const message of messages) {
      if (message.role === "compactionSummary") compactedAt = message.timestamp;
      this.#take(message, message.timestamp > compactedAt);
    }
  }

  /** A message that came to the end of the context. */
  add(message: AgentMessage): void {
    this.#take(message, true);
  }

  get tokens(): number {
    return this.#measured === undefined ? this.#overhead + this.#all : this.#measured + this.#after;
  }

  /** Whether a provider has counted since the last compaction; otherwise `tokens` is a guess. */
  get isMeasured(): boolean {
    return this.#measured !== undefined;
  }

  #take(message: AgentMessage, isBelieved: boolean): void {
    const tokens = estimateMessage(message);
    this.#all += tokens;
    this.#after += tokens;
    if (!isBelieved || message.role !== "assistant" || message.stopReason === "error" || message.stopReason === "aborted") return;
    const counted = message.usage ? usageTokens(message.usage) : 0;
    if (!(counted > 0)) return;
    this.#measured = counted;
    this.#after = 0;
  }
}

export interface CompactionLimits {
  /** More tokens than these ask for a compaction; null when the window is unknown, and then only an overflow asks for one. */
  threshold: number | null;
  /** Tokens of recent conversation that stay as they are. */
  keepTokens: number;
}

/**
 * What the settings mean for a window. They are made for large ones: of a small window the reserve takes at most
 * a quarter, and what is kept at most half of the rest, else every turn would end in a compaction.
 */
export function limits(window: number | null, settings: { reserveTokens: number; keepRecentTokens: number }): CompactionLimits {
  if (window === null) return { threshold: null, keepTokens: settings.keepRecentTokens };
  const threshold = window - Math.min(settings.reserveTokens, Math.floor(window / 4));
  return { threshold, keepTokens: Math.min(settings.keepRecentTokens, Math.floor(threshold / 2)) };
}
