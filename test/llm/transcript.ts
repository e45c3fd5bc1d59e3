import { noUsage, type AssistantMessage, type ImageBlock, type ToolResultMessage } from "../../src/llm/message.ts";
import type { ModelSpec } from "../../src/llm/model.ts";

/** A red pixel. */
export const PNG: ImageBlock = { type: "image", mimeType: "image/png", data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC" };

export const TOOL = { name: "bash", description: "Runs a command.", parameters: { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object", properties: { command: { type: "string" } }, required: ["command"], additionalProperties: false } };

export function specOf(api: string, more: Partial<ModelSpec["model"]> = {}, rest: Omit<ModelSpec, "model"> = {}): ModelSpec {
  return {
    model: { id: "m", name: "m", api, provider: "p", baseUrl: "http://127.0.0.1:1", reasoning: false, input: ["text"], contextWindow: null, maxTokens: null, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, ...more },
    ...rest,
  };
}

/** An answer of the model in `spec`, or of another by `more`. */
export function said(spec: ModelSpec, content: AssistantMessage["content"], more: Partial<AssistantMessage> = {}): AssistantMessage {
  const { api, provider, id } = spec.model;
  return { role: "assistant", content, api, provider, model: id, usage: noUsage(), stopReason: content.some((block) => block.type === "toolCall") ? "toolUse" : "stop", timestamp: 2, ...more };
}

export function call(id: string, args: Record<string, unknown> = {}, name = "bash"): Extract<AssistantMessage["content"][number], { type: "toolCall" }> {
  return { type: "toolCall", id, name, arguments: args };
}

export function result(toolCallId: string, content: ToolResultMessage["content"] | string = "ok", more: Partial<ToolResultMessage> = {}): ToolResultMessage {
  return { role: "toolResult", toolCallId, toolName: "bash", content: typeof content === "string" ? [{ type: "text", text: content }] : content, isError: false, timestamp: 3, ...more };
}
