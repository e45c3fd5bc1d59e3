import type { MessageBuilder } from "./builder.ts";
import { eventJson } from "./event-json.ts";
import { RequestFailed } from "./failure.ts";
import { failureOfError } from "./http-failure.ts";
import { OpenAICalls } from "./openai-calls.ts";
import type { OpenAICompat } from "./openai-compat.ts";
import { ReasoningDetails } from "./reasoning-details.ts";
import { ThinkTags } from "./think-tags.ts";

/** What of a chunk is looked at; a server may send anything else, or nothing. */
interface Chunk {
  id?: unknown;
  model?: unknown;
  object?: unknown;
  error?: unknown;
  usage?: Record<string, any> | null;
  choices?: ({ delta?: Delta | null; message?: Delta | null; finish_reason?: unknown; usage?: Record<string, any> | null } | null)[] | null;
}

interface Delta {
  content?: unknown;
  refusal?: unknown;
  reasoning?: unknown;
  reasoning_content?: unknown;
  reasoning_text?: unknown;
  reasoning_details?: unknown;
  tool_calls?: unknown;
}

/** Reads the chunks of one streamed completion into a builder. */
export class OpenAIAnswer {
  readonly #builder: MessageBuilder;
  readonly #compat: OpenAICompat;
  readonly #calls: OpenAICalls;
  readonly #tags: ThinkTags;
  readonly #details = new ReasoningDetails();
  /** The content index of the last thinking block that came in a field of its own. */
  #thinkingAt = -1;
  #finish: string | undefined;
  #isDone = false;

  constructor(builder: MessageBuilder, compat: OpenAICompat) {
    this.#builder = builder;
    this.#compat = compat;
    this.#calls = new OpenAICalls(builder);
    this.#tags = new ThinkTags(builder);
  }

  take(data: string): boolean | "whole" | "end" {
    if (data.startsWith("[DONE]")) {
      this.#isDone = true;
      return "end";
    }
    const chunk: Chunk = eventJson(data);
    if (chunk.error) throw new RequestFailed(failureOfError(chunk.error));
    if (chunk.object === "error") throw new RequestFailed(failureOfError(chunk));
    const builder = this.#builder;
    if (typeof chunk.id === "string") builder.responseId ??= chunk.id || undefined;
    if (typeof chunk.model === "string") builder.responseModel ??= chunk.model || undefined;
    const choice = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined;
    const usage = chunk.usage ?? choice?.usage;
    if (usage) this.#takeUsage(usage);
    const isWhole = () => this.#finish !== undefined && "whole";
    if (!choice) return isWhole() || Boolean(usage);
    // A server that does not stream sends the whole message at once.
    const delta = choice.delta ?? choice.message;
    const hasContent = delta ? this.#takeDelta(delta) : false;
    if (typeof choice.finish_reason === "string" && choice.finish_reason !== "") {
      this.#finish = choice.finish_reason;
      return "whole";
    }
    return hasContent || isWhole() || Boolean(usage);
  }

  /** The stream has ended: ends the blocks and gives the answer its reason. Throws when it was cut off. */
  end(): void {
    this.#tags.end();
    this.#calls.end();
    this.#signDetails();
    const builder = this.#builder;
    if (this.#finish === undefined) {
      if (builder.isEmpty && this.#isDone) throw new RequestFailed({ kind: "server", message: "The server ended its answer without saying anything." });
      if (!this.#isDone && (this.#compat.supportsFinishReason || builder.isEmpty)) {
        throw new RequestFailed({ kind: "network", message: "The server ended its answer before it was complete." });
      }
      return builder.stop(builder.hasCalls ? "toolUse" : "stop");
    }
    builder.rawStopReason = this.#finish;
    switch (this.#finish) {
      case "length": case "max_tokens":
        return builder.stop("length");
      case "content_filter":
        return builder.stopFailed({ kind: "refusal", code: this.#finish, message: "The provider's content filter stopped the answer (content_filter)." });
      case "model_context_window_exceeded":
        if (!builder.isEmpty) return builder.stop("length");
        return builder.stopFailed({ kind: "overflow", code: this.#finish, message: "The conversation is longer than the model's context window." });
      case "error": case "network_error": case "insufficient_system_resource": case "abort":
        return builder.stopFailed({ kind: "server", code: this.#finish, message: `The provider broke its answer off (${this.#finish}).` });
      default:
        return builder.stop(builder.hasCalls ? "toolUse" : "stop");
    }
  }

  #takeDelta(delta: Delta): boolean {
    const builder = this.#builder;
    let hasContent = false;
    // Thinking first: some proxies put both into one delta.
    const field = reasoningField(delta);
    if (field) {
      this.#tags.off();
      this.#thinkingAt = builder.openThinking();
      builder.sign((signature) => signature ?? field, this.#thinkingAt);
      builder.thinking(delta[field] as string);
      hasContent = true;
    }
    if (Array.isArray(delta.reasoning_details) && delta.reasoning_details.length) {
      if (this.#thinkingAt < 0) this.#thinkingAt = builder.openThinking();
      this.#details.feed(delta.reasoning_details);
      hasContent = true;
    }
    const { content } = delta;
    if (typeof content === "string") {
      if (content !== "") {
        this.#tags.feed(content);
        hasContent = true;
      }
    } else if (Array.isArray(content)) hasContent = this.#takeParts(content) || hasContent;
    if (typeof delta.refusal === "string" && delta.refusal !== "") {
      builder.text(delta.refusal);
      hasContent = true;
    }
    if (Array.isArray(delta.tool_calls) && delta.tool_calls.length) {
      this.#tags.end();
      this.#calls.feed(delta.tool_calls);
      hasContent = true;
    }
    return hasContent;
  }

  /** Content as a list (Mistral): texts, and thinking that is a list again. */
  #takeParts(parts: readonly unknown[]): boolean {
    let hasContent = false;
    for (const part of parts) {
      if (typeof part !== "object" || part === null) continue;
      const { type, text, thinking } = part as { type?: unknown; text?: unknown; thinking?: unknown };
      if (type === "text" && typeof text === "string" && text !== "") {
        this.#tags.off();
        this.#builder.text(text);
        hasContent = true;
      } else if (type === "thinking") {
        const pieces = Array.isArray(thinking) ? thinking.map((piece: { text?: unknown } | null) => piece?.text) : [thinking];
        for (const piece of pieces) if (typeof piece === "string") this.#builder.thinking(piece);
        hasContent = true;
      }
    }
    return hasContent;
  }

  #takeUsage(usage: Record<string, any>): void {
    const cacheRead = usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens ?? 0;
    const cacheWrite = usage.prompt_tokens_details?.cache_write_tokens ?? 0;
    const prompt = Number(usage.prompt_tokens ?? 0) - Number(cacheRead) - Number(cacheWrite);
    const reasoning = usage.completion_tokens_details?.reasoning_tokens ?? usage.reasoning_tokens;
    this.#builder.setUsage({ input: Math.max(0, prompt), output: usage.completion_tokens ?? 0, cacheRead, cacheWrite, ...(reasoning ? { reasoning } : {}) });
  }

  #signDetails(): void {
    if (!this.#details.isEmpty) this.#builder.sign(() => this.#details.toSignature(), this.#thinkingAt);
  }
}

/** Servers that fill several of these say the same in each. */
function reasoningField(delta: Delta): "reasoning_content" | "reasoning" | "reasoning_text" | undefined {
  if (typeof delta.reasoning_content === "string" && delta.reasoning_content !== "") return "reasoning_content";
  if (typeof delta.reasoning === "string" && delta.reasoning !== "") return "reasoning";
  if (typeof delta.reasoning_text === "string" && delta.reasoning_text !== "") return "reasoning_text";
  return undefined;
}
