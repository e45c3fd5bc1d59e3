import type { AssistantMessage, Message, Usage } from "./message.ts";
import type { Failure } from "./failure.ts";

export const THINKING_LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type ThinkingLevel = (typeof THINKING_LEVELS)[number];

/** A model as the wire shows it (protocol.md, section 5). Never holds a key or a header. */
export interface Model {
  id: string;
  name: string;
  api: string;
  provider: string;
  baseUrl: string;
  reasoning: boolean;
  input: ("text" | "image")[];
  /** Tokens; null when nobody said (told as unknown, never guessed). */
  contextWindow: number | null;
  /** Tokens of output; null when nobody said. */
  maxTokens: number | null;
  /** USD per million tokens. */
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number };
}

/** A model with what only its adapter may know. `model` is the part that may be shown. */
export interface ModelSpec {
  model: Model;
  headers?: Record<string, string>;
  /** Send the key as `Authorization: Bearer` even where the api has another way. */
  authHeader?: boolean;
  /** Quirks of a server, by name (models.json `compat`). */
  compat?: Record<string, unknown>;
  /** Level → the provider's word for it; null removes the level (models.json). */
  thinkingLevelMap?: Partial<Record<ThinkingLevel, string | null>>;
}

export interface ToolSchema {
  name: string;
  description: string;
  /** JSON Schema of the arguments, an object. */
  parameters: Record<string, unknown>;
}

export interface ModelRequest {
  systemPrompt: string;
  messages: readonly Message[];
  tools: readonly ToolSchema[];
  thinkingLevel: ThinkingLevel;
  /** An upper bound for the answer; default the model's own. */
  maxTokens?: number;
  /** The server takes no two user messages in a row: they are sent as one. */
  joinsUsers?: boolean;
  /** For prompt caches that take a key. */
  sessionId?: string;
}

/** How long a request may wait for a connection, for the first content, and within the content; 0 is no limit. */
export interface Timeouts {
  connectMs: number;
  firstEventMs: number;
  idleMs: number;
}

/** The deltas of an answer, in order, as `message_update.assistantMessageEvent` carries them (section 9). */
export type StreamEvent =
  | { type: "text_start" | "thinking_start"; contentIndex: number }
  | { type: "text_delta" | "thinking_delta" | "toolcall_delta"; contentIndex: number; delta: string }
  | { type: "text_end" | "thinking_end"; contentIndex: number; content: string }
  | { type: "toolcall_start"; contentIndex: number; id: string; toolName: string }
  | { type: "toolcall_end"; contentIndex: number; toolCall: import("./message.ts").ToolCall };

export interface StreamOptions {
  signal: AbortSignal;
  apiKey?: string;
  timeouts: Timeouts;
  /** Called for each event in order; `usage` is what is known so far. Must not throw. */
  emit(event: StreamEvent, usage: Usage): void;
  /** Awaited before more of the answer is read: the way in which a slow reader slows the model. */
  ready?(): Promise<void> | undefined;
}

export interface StreamResult {
  /** The whole message; `stopReason` is never "pending". After a failure or abort it holds what had come. */
  message: AssistantMessage;
  /** Why it failed, when `stopReason` is "error". */
  failure?: Failure;
}

/** Talks one wire API. Must not throw or reject: every failure is in the result. */
export type Adapter = (spec: ModelSpec, request: ModelRequest, options: StreamOptions) => Promise<StreamResult>;
