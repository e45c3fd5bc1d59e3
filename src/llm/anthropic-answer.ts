import { randomHex } from "../base/random.ts";
import type { MessageBuilder } from "./builder.ts";
import { eventJson } from "./event-json.ts";
import { RequestFailed } from "./failure.ts";
import { failureOfError } from "./http-failure.ts";

type Fields = Record<string, any>;

/** What one block of the answer has become, by its index in the answer. */
interface Open {
  type: "text" | "thinking" | "call";
  /** Content index; of a text, -1. */
  at: number;
  /** A call's whole input, should no pieces of it come. */
  input?: unknown;
}

/** Reads the events of one streamed message into a builder. */
export class AnthropicAnswer {
  readonly #builder: MessageBuilder;
  readonly #open = new Map<unknown, Open>();
  readonly #ids = new Set<string>();
  #stopReason: string | undefined;
  #explanation: string | undefined;
  #isDone = false;

  constructor(builder: MessageBuilder) {
    this.#builder = builder;
  }

  take(data: string): boolean | "whole" | "end" {
    // Compatible servers may end their stream in OpenAI's way.
    const event = data.startsWith("[DONE]") ? {} : eventJson(data);
    switch (event.type) {
      case "content_block_delta":
        return this.#delta(event.index, event.delta ?? {});
      case "content_block_start":
        return this.#start(event.index, event.content_block ?? {});
      case "content_block_stop":
        this.#stop(event.index);
        return true;
      case "message_start":
        this.#message(event.message ?? {});
        return false;
      case "message_delta":
        this.#reason(event.delta ?? {});
        this.#usage(event.usage);
        return this.#stopReason === undefined || "whole";
      case "message_stop":
        this.#isDone = true;
        return "end";
      case "message":
        return this.#whole(event);
      case "error":
        throw new RequestFailed(failureOfError(event.error ?? event));
      default:
        // Pings, and what later versions of the api may add.
        return false;
    }
  }

  /** The stream has ended: gives the answer its reason. Throws when it was cut off. */
  end(): void {
    const builder = this.#builder;
    for (const index of [...this.#open.keys()]) this.#stop(index);
    if (this.#stopReason === undefined) {
      if (!this.#isDone) throw new RequestFailed({ kind: "network", message: "The server ended its answer before it was complete." });
      if (builder.isEmpty) throw new RequestFailed({ kind: "server", message: "The server ended its answer without saying anything." });
      return builder.stop(builder.hasCalls ? "toolUse" : "stop");
    }
    builder.rawStopReason = this.#stopReason;
    switch (this.#stopReason) {
      case "max_tokens":
        return builder.stop("length");
      case "model_context_window_exceeded":
        if (!builder.isEmpty) return builder.stop("length");
        return builder.stopFailed({ kind: "overflow", code: this.#stopReason, message: "The conversation is longer than the model's context window." });
      case "refusal": case "sensitive":
        return builder.stopFailed({ kind: "refusal", code: this.#stopReason, message: this.#explanation ?? `The model refused to answer (${this.#stopReason}).` });
      default:
        return builder.stop(builder.hasCalls ? "toolUse" : "stop");
    }
  }

  #message(message: Fields): void {
    if (typeof message.id === "string") this.#builder.responseId = message.id;
    if (typeof message.model === "string") this.#builder.responseModel = message.model;
    this.#usage(message.usage);
  }

  #start(index: unknown, block: Fields): boolean {
    const builder = this.#builder;
    builder.closeOpen();
    switch (block.type) {
      case "text":
        this.#open.set(index, { type: "text", at: -1 });
        builder.text(text(block.text));
        return true;
      case "thinking": {
        const at = builder.openThinking();
        this.#open.set(index, { type: "thinking", at });
        builder.thinking(text(block.thinking));
        if (text(block.signature)) builder.sign(() => block.signature, at);
        return true;
      }
      case "redacted_thinking":
        builder.redactedThinking(text(block.data));
        return true;
      case "tool_use": {
        const id = text(block.id) && !this.#ids.has(block.id) ? text(block.id) : `toolu_${randomHex(8)}`;
        this.#ids.add(id);
        this.#open.set(index, { type: "call", at: builder.openCall(id, text(block.name) || "unknown"), input: block.input });
        return true;
      }
      default:
        return false;
    }
  }

  #delta(index: unknown, delta: Fields): boolean {
    const builder = this.#builder;
    const open = this.#open.get(index);
    switch (delta.type) {
      case "text_delta":
        builder.text(text(delta.text));
        return true;
      case "thinking_delta":
        builder.thinking(text(delta.thinking));
        return true;
      case "signature_delta":
        if (open?.type === "thinking") builder.sign((signature) => (signature ?? "") + text(delta.signature), open.at);
        return true;
      case "input_json_delta":
        if (open?.type !== "call" || text(delta.partial_json) === "") return false;
        open.input = undefined;
        builder.callDelta(open.at, delta.partial_json);
        return true;
      default:
        return false;
    }
  }

  #stop(index: unknown): void {
    const open = this.#open.get(index);
    this.#open.delete(index);
    if (open?.type !== "call") return this.#builder.closeOpen();
    if (isFilled(open.input)) this.#builder.callDelta(open.at, JSON.stringify(open.input));
    this.#builder.closeCall(open.at);
  }

  #reason(delta: Fields): void {
    if (text(delta.stop_reason)) this.#stopReason = delta.stop_reason;
    if (text(delta.stop_details?.explanation)) this.#explanation = delta.stop_details.explanation;
  }

  /** A server that does not stream sends the whole message at once. */
  #whole(message: Fields): "end" {
    this.#message(message);
    this.#reason(message);
    for (const [index, block] of (Array.isArray(message.content) ? message.content : []).entries()) {
      this.#start(index, block ?? {});
      this.#stop(index);
    }
    this.#isDone = true;
    return "end";
  }

  /** Counts come twice; a 0 or nothing in the second takes nothing back. */
  #usage(usage: Fields | null | undefined): void {
    if (!usage) return;
    this.#builder.setUsage({
      input: usage.input_tokens || undefined,
      output: usage.output_tokens || undefined,
      cacheRead: usage.cache_read_input_tokens || undefined,
      cacheWrite: usage.cache_creation_input_tokens || undefined,
      reasoning: usage.output_tokens_details?.thinking_tokens || undefined,
    });
  }
}

function isFilled(input: unknown): boolean {
  return typeof input === "object" && input !== null && Object.keys(input).length > 0;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
