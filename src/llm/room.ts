import type { Message } from "./message.ts";
import type { ModelRequest, ModelSpec } from "./model.ts";

const CHARS_PER_TOKEN = 3.5;
const IMAGE_TOKENS = 1600;
/** The estimate may be this far below what the server counts. */
const MARGIN = 4096;
/** Less is never asked for: a full window is the server's to refuse. */
const LEAST = 4096;

/**
 * The bound of the answer to ask for: the request's, else the model's own, and no more than the context window leaves,
 * for servers that refuse a sum beyond it. Undefined when nobody said.
 */
export function answerTokens({ model }: ModelSpec, request: ModelRequest): number | undefined {
  const wanted = request.maxTokens ?? model.maxTokens ?? undefined;
  if (wanted === undefined || model.contextWindow === null || wanted <= LEAST) return wanted;
  return Math.min(wanted, Math.max(LEAST, model.contextWindow - estimateTokens(request) - MARGIN));
}

/** What the last answer's usage says of everything up to it, and a guess at what follows. */
function estimateTokens({ systemPrompt, messages, tools }: ModelRequest): number {
  const counted = lastCounted(messages);
  let tokens = counted < 0 ? 0 : (messages[counted] as { usage: { totalTokens: number } }).usage.totalTokens;
  let chars = 0;
  if (counted < 0) {
    chars += systemPrompt.length;
    for (const tool of tools) chars += tool.description.length + JSON.stringify(tool.parameters).length;
  }
  for (let at = counted + 1; at < messages.length; at += 1) {
    const { content } = messages[at]!;
    if (typeof content === "string") {
      chars += content.length;
      continue;
    }
    for (const block of content) {
      if (block.type === "text") chars += block.text.length;
      else if (block.type === "thinking") chars += block.thinking.length;
      else if (block.type === "image") tokens += IMAGE_TOKENS;
      else chars += JSON.stringify(block.arguments).length;
    }
  }
  return tokens + Math.ceil(chars / CHARS_PER_TOKEN);
}

/** The last answer whose usage still counts what stands before it: nothing newer (a summary) was put there since. */
function lastCounted(messages: readonly Message[]): number {
  let newest = -Infinity;
  let counted = -1;
  for (const [at, message] of messages.entries()) {
    if (message.role === "assistant" && message.stopReason !== "aborted" && message.usage.totalTokens > 0 && message.timestamp >= newest) counted = at;
    newest = Math.max(newest, message.timestamp);
  }
  return counted;
}
