/** Messages and content blocks (protocol.md, section 13). These shapes go to the wire and to disk as they are. */

export interface TextBlock {
  type: "text";
  text: string;
  /** Opaque, given back to the provider that made it. */
  textSignature?: string;
}

export interface ThinkingBlock {
  type: "thinking";
  thinking: string;
  /** Opaque, given back to the provider and model that made it. */
  thinkingSignature?: string;
  /** The provider hid the text; only the signature counts. */
  redacted?: boolean;
}

export interface ImageBlock {
  type: "image";
  /** Base64 without a data-URL prefix. */
  data: string;
  mimeType: string;
}

export interface ToolCall {
  type: "toolCall";
  id: string;
  name: string;
  arguments: Record<string, unknown>;
  thoughtSignature?: string;
}

/** Token counts; `reasoning` is part of `output`, `totalTokens` the sum of the other four. Costs are USD. */
export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  reasoning?: number;
  totalTokens: number;
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
}

export type StopReason = "pending" | "stop" | "length" | "toolUse" | "error" | "aborted";

export interface UserMessage {
  role: "user";
  content: string | (TextBlock | ImageBlock)[];
  /** Epoch ms, as every `timestamp` of a message. */
  timestamp: number;
}

export interface AssistantMessage {
  role: "assistant";
  content: (TextBlock | ThinkingBlock | ToolCall)[];
  api: string;
  provider: string;
  model: string;
  responseModel?: string;
  responseId?: string;
  usage: Usage;
  stopReason: StopReason;
  errorMessage?: string;
  rawStopReason?: string;
  thinkingLevel?: string;
  durationMs?: number;
  timestamp: number;
}

export interface ToolResultMessage {
  role: "toolResult";
  toolCallId: string;
  toolName: string;
  content: (TextBlock | ImageBlock)[];
  details?: unknown;
  usage?: Usage;
  isError: boolean;
  durationMs?: number;
  timestamp: number;
}

/** What a model is sent. */
export type Message = UserMessage | AssistantMessage | ToolResultMessage;

/** A usage of nothing, fresh each time. */
export function noUsage(): Usage {
  return { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
}

/** The text blocks of a message's content, joined with nothing between them. */
export function textOf(content: string | readonly { type: string; text?: string }[]): string {
  if (typeof content === "string") return content;
  let text = "";
  for (const block of content) if (block.type === "text") text += block.text ?? "";
  return text;
}
