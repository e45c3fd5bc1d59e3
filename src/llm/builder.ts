import { logBug } from "../base/log.ts";
import { wordsOf } from "../base/text.ts";
import { setUsage, type Counts } from "./cost.ts";
import { RequestFailed, type Failure } from "./failure.ts";
import { noUsage, type AssistantMessage, type StopReason, type TextBlock, type ThinkingBlock, type ToolCall, type Usage } from "./message.ts";
import type { Adapter, ModelRequest, ModelSpec, StreamOptions, StreamResult } from "./model.ts";
import { redact } from "./redact.ts";
import { markFault, parseArguments } from "./tool-arguments.ts";

type Block = TextBlock | ThinkingBlock | ToolCall;

/**
 * Makes one assistant message of the pieces an adapter reads, and tells each piece as a StreamEvent.
 * Text and thinking are one open block at most; a tool call stays open beside it until it is closed.
 * Every start has its end, whatever happens.
 */
export class MessageBuilder {
  readonly usage: Usage = noUsage();
  responseId: string | undefined;
  responseModel: string | undefined;
  rawStopReason: string | undefined;
  #content: Block[] = [];
  /** The pieces of each block, joined once at its end: linear however many there are. */
  #parts: string[][] = [];
  #closed: boolean[] = [];
  /** Half a surrogate pair that ended the last delta of a block: told with the next. */
  #halves: string[] = [];
  /** The open text or thinking block, or -1. */
  #open = -1;
  #stopReason: StopReason = "pending";
  #failure: Failure | undefined;
  readonly #beganAt = performance.now();
  readonly #timestamp = Date.now();

  constructor(
    readonly spec: ModelSpec,
    readonly request: ModelRequest,
    readonly options: StreamOptions,
  ) {}

  get isEmpty(): boolean {
    return this.#content.length === 0;
  }

  get hasCalls(): boolean {
    return this.#content.some((block) => block.type === "toolCall");
  }

  setUsage(counts: Counts): void {
    setUsage(this.usage, counts, this.spec.model.cost);
  }

  text(delta: string): void {
    if (delta === "") return;
    let at = this.#open;
    if (at < 0 || this.#content[at]!.type !== "text") at = this.#begin({ type: "text", text: "" });
    this.#tell("text_delta", at, delta);
  }

  thinking(delta: string): void {
    if (delta === "") return;
    const at = this.openThinking();
    this.#tell("thinking_delta", at, delta);
  }

  /** Begins a thinking block unless one is open, and gives its index; `sign` may follow without any text. */
  openThinking(): number {
    const at = this.#open;
    return at >= 0 && this.#content[at]!.type === "thinking" ? at : this.#begin({ type: "thinking", thinking: "" });
  }

  /** Changes the signature of a thinking block, by default the open one. */
  sign(change: (signature: string | undefined) => string, at = this.openThinking()): void {
    const block = this.#content[at];
    if (block?.type === "thinking") block.thinkingSignature = change(block.thinkingSignature);
  }

  /** A whole thinking block whose text the provider hides. */
  redactedThinking(data: string): void {
    const at = this.#begin({ type: "thinking", thinking: "", thinkingSignature: data, redacted: true });
    this.#close(at);
  }

  /** Ends the open text or thinking block. */
  closeOpen(): void {
    if (this.#open >= 0) this.#close(this.#open);
  }

  /** Begins a tool call and gives its content index. */
  openCall(id: string, name: string): number {
    this.closeOpen();
    const at = this.#add({ type: "toolCall", id, name, arguments: {} });
    this.options.emit({ type: "toolcall_start", contentIndex: at, id, toolName: name }, this.usage);
    return at;
  }

  callDelta(at: number, delta: string): void {
    if (delta === "" || this.#closed[at]) return;
    this.#tell("toolcall_delta", at, delta);
  }

  /** Ends a tool call; its arguments are what its deltas say. */
  closeCall(at: number): void {
    if (!this.#closed[at]) this.#close(at);
  }

  /** The answer is whole, with this reason (the provider's own word beside it). */
  stop(reason: "stop" | "length" | "toolUse", raw?: string): void {
    this.#stopReason = reason;
    if (raw) this.rawStopReason = raw;
  }

  /** The answer ended in a failure that the provider told; what came is kept. */
  stopFailed(failure: Failure): void {
    this.#stopReason = "error";
    this.#failure = failure;
  }

  /** The result of a stream that was read to its end. */
  finish(): StreamResult {
    this.#closeAll();
    if (this.options.signal.aborted) return this.#result("aborted");
    if (this.#failure) return this.#result("error", this.#failure);
    return this.#result(this.#stopReason === "pending" ? "stop" : this.#stopReason);
  }

  /** The result of a stream that threw. */
  fail(error: unknown): StreamResult {
    this.#closeAll();
    if (this.options.signal.aborted) return this.#result("aborted");
    if (error instanceof RequestFailed) return this.#result("error", error.failure);
    logBug("a model adapter", error);
    const words = wordsOf(error);
    return this.#result("error", { kind: "bad_request", message: `Internal error while talking to the model: ${words}` });
  }

  #tell(type: "text_delta" | "thinking_delta" | "toolcall_delta", at: number, came: string): void {
    this.#parts[at]!.push(came);
    let delta = (this.#halves[at] ?? "") + came;
    this.#halves[at] = "";
    if (endsInHalf(delta)) {
      this.#halves[at] = delta.slice(-1);
      delta = delta.slice(0, -1);
      if (delta === "") return;
    }
    this.options.emit({ type, contentIndex: at, delta }, this.usage);
  }

  #begin(block: Block): number {
    this.closeOpen();
    const at = this.#add(block);
    this.#open = at;
    this.options.emit({ type: block.type === "text" ? "text_start" : "thinking_start", contentIndex: at }, this.usage);
    return at;
  }

  #add(block: Block): number {
    this.#content.push(block);
    this.#parts.push([]);
    this.#closed.push(false);
    return this.#content.length - 1;
  }

  #close(at: number): void {
    const block = this.#content[at]!;
    const content = this.#parts[at]!.join("");
    this.#parts[at] = [];
    this.#closed[at] = true;
    if (this.#open === at) this.#open = -1;
    if (block.type === "text") {
      block.text = content;
      this.options.emit({ type: "text_end", contentIndex: at, content }, this.usage);
    } else if (block.type === "thinking") {
      block.thinking = content;
      this.options.emit({ type: "thinking_end", contentIndex: at, content }, this.usage);
    } else {
      const parsed = parseArguments(content);
      block.arguments = parsed.arguments;
      if (parsed.fault) markFault(block, parsed.fault);
      this.options.emit({ type: "toolcall_end", contentIndex: at, toolCall: block }, this.usage);
    }
  }

  #closeAll(): void {
    for (let at = 0; at < this.#content.length; at += 1) if (!this.#closed[at]) this.#close(at);
  }

  #result(stopReason: StopReason, failure?: Failure): StreamResult {
    const { model } = this.spec;
    const told = failure && { ...failure, message: redact(failure.message, this.spec, this.options.apiKey) };
    const message: AssistantMessage = {
      role: "assistant",
      content: this.#content,
      api: model.api,
      provider: model.provider,
      model: model.id,
      ...(this.responseModel && this.responseModel !== model.id ? { responseModel: this.responseModel } : {}),
      ...(this.responseId ? { responseId: this.responseId } : {}),
      usage: this.usage,
      stopReason,
      ...(told ? { errorMessage: told.message } : stopReason === "aborted" ? { errorMessage: "Aborted" } : {}),
      ...(this.rawStopReason ? { rawStopReason: this.rawStopReason } : {}),
      ...(model.reasoning ? { thinkingLevel: this.request.thinkingLevel } : {}),
      durationMs: Math.round(performance.now() - this.#beganAt),
      timestamp: this.#timestamp,
    };
    return told ? { message, failure: told } : { message };
  }
}

function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

/** An adapter from a function that fills the builder and may throw. */
export function adapter(fill: (builder: MessageBuilder) => Promise<void>): Adapter {
  return async (spec, request, options) => {
    const builder = new MessageBuilder(spec, request, options);
    try {
      await fill(builder);
      return builder.finish();
    } catch (error) {
      return builder.fail(error);
    }
  };
}
