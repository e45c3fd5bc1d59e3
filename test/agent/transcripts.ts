import { noUsage, type AssistantMessage, type ToolCall, type ToolResultMessage, type Usage, type UserMessage } from "../../src/llm/message.ts";
import type { ContextItem } from "../../src/session/context.ts";
import type { AgentMessage, CompactionSummaryMessage } from "../../src/session/message.ts";

/** Messages for tests about transcripts; times count up from 1. */
let clock = 0;

export const words = (tokens: number): string => "abc ".repeat(tokens);

export function user(text: string): UserMessage {
  return { role: "user", content: [{ type: "text", text }], timestamp: ++clock };
}

export function call(id: string, name: string, args: Record<string, unknown> = {}): ToolCall {
  return { type: "toolCall", id, name, arguments: args };
}

export function assistant(content: string | AssistantMessage["content"], more: Partial<AssistantMessage> = {}): AssistantMessage {
  const blocks = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return { role: "assistant", content: blocks, api: "faux", provider: "faux", model: "faux-1", usage: noUsage(), stopReason: blocks.some((block) => block.type === "toolCall") ? "toolUse" : "stop", timestamp: ++clock, ...more };
}

export function result(toolCallId: string, text: string, more: Partial<ToolResultMessage> = {}): ToolResultMessage {
  return { role: "toolResult", toolCallId, toolName: "bash", content: [{ type: "text", text }], isError: false, timestamp: ++clock, ...more };
}

export function summaryOf(summary: string): CompactionSummaryMessage {
  return { role: "compactionSummary", summary, tokensBefore: 1, timestamp: ++clock };
}

export function usageOf(input: number, output: number): Usage {
  return { ...noUsage(), input, output, totalTokens: input + output };
}

/** A context whose entries are named by their place: e0, e1, … */
export function itemsOf(messages: readonly AgentMessage[]): ContextItem[] {
  return messages.map((message, i) => ({ entryId: `e${i}`, message }));
}
