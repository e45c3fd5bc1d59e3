import { isObject } from "../base/json.ts";
import { noUsage } from "../llm/message.ts";
import type { AgentMessage } from "./message.ts";

type Loose = Record<string, unknown>;
const isText = (value: unknown): value is string => typeof value === "string";

/**
 * A message of a file in the shape that it should have, the same object where it has it. Files come from other
 * programs and other times: content may be missing, a string where blocks are due, or hold what is no block.
 * Undefined for what nobody could send to a model: unknown roles, and `system`, in which pi keeps its prompt and tools.
 */
export function soundMessage(message: unknown): AgentMessage | undefined {
  if (!isObject(message)) return undefined;
  switch (message.role) {
    case "user":
    case "custom":
      return withContent(message, isText(message.content) ? message.content : blocks(message.content));
    case "toolResult":
      return withContent(isText(message.toolCallId) && isText(message.toolName) ? message : { ...message, toolCallId: message.toolCallId ?? "", toolName: message.toolName ?? "" }, blocks(message.content));
    case "assistant":
      return withContent(isWhole(message) ? message : { api: "", provider: "", model: "", stopReason: "stop", ...message, usage: usageOf(message.usage) }, blocks(message.content));
    case "bashExecution":
      return (isText(message.command) && isText(message.output) ? message : { ...message, command: String(message.command ?? ""), output: String(message.output ?? "") }) as unknown as AgentMessage;
    case "branchSummary":
    case "compactionSummary":
      return isText(message.summary) ? (message as unknown as AgentMessage) : undefined;
    default:
      return undefined;
  }
}

function withContent(message: Loose, content: unknown): AgentMessage {
  return (content === message.content ? message : { ...message, content }) as unknown as AgentMessage;
}

function isWhole(message: Loose): boolean {
  return isText(message.stopReason) && isText(message.provider) && isText(message.model) && isText(message.api) && usageOf(message.usage) === message.usage;
}

function usageOf(usage: unknown): unknown {
  if (!isObject(usage)) return noUsage();
  const { input, output, cacheRead, cacheWrite, totalTokens, cost } = usage;
  const isSound = [input, output, cacheRead, cacheWrite, totalTokens].every(Number.isFinite) && isObject(cost);
  if (isSound) return usage;
  const whole: Loose = { ...noUsage(), ...usage };
  for (const [key, nothing] of Object.entries(noUsage())) if (typeof whole[key] !== typeof nothing || whole[key] === null) whole[key] = nothing;
  if (!Number.isFinite(totalTokens)) whole.totalTokens = Number(whole.input) + Number(whole.output) + Number(whole.cacheRead) + Number(whole.cacheWrite);
  return whole;
}

function blocks(content: unknown): unknown[] {
  if (isText(content)) return content ? [{ type: "text", text: content }] : [];
  if (!Array.isArray(content)) return [];
  if (content.every(isBlock)) return content;
  // A call stays, so that its result has something to belong to.
  return content.map((block) => (isObject(block) && block.type === "toolCall" && !isObject(block.arguments) ? { ...block, arguments: {} } : block)).filter(isBlock);
}

function isBlock(block: unknown): boolean {
  if (!isObject(block)) return false;
  switch (block.type) {
    case "text":
      return isText(block.text);
    case "thinking":
      return isText(block.thinking);
    case "image":
      return isText(block.data) && isText(block.mimeType);
    case "toolCall":
      return isText(block.id) && isText(block.name) && isObject(block.arguments);
    default:
      return false;
  }
}
