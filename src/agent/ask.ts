import { logBug } from "../base/log.ts";
import { Refusal } from "../base/refusal.ts";
import { wordsOf } from "../base/text.ts";
import { noUsage, type AssistantMessage } from "../llm/message.ts";
import type { ModelRequest, ModelSpec, StreamOptions, StreamResult } from "../llm/model.ts";
import { ABANDONED, orAbandon } from "./grace.ts";

/** See ModelRegistry.stream. */
export type Stream = (spec: ModelSpec, request: ModelRequest, options: Omit<StreamOptions, "apiKey" | "timeouts">) => Promise<StreamResult>;

export interface AskOptions {
  signal: AbortSignal;
  /** How long the answer may take to end after an abort. */
  graceMs(): number;
  emit: StreamOptions["emit"];
  ready?: (() => Promise<void> | undefined) | undefined;
}

/**
 * One answer of a model. Never rejects and always ends soon after an abort, whatever the adapter does; nothing is
 * emitted once it has ended. `request` is made as late as possible.
 */
export async function ask(stream: Stream, spec: ModelSpec, request: () => ModelRequest | Promise<ModelRequest>, o: AskOptions): Promise<StreamResult> {
  let isListening = true;
  try {
    if (o.signal.aborted) return aborted(spec);
    const asked = await request();
    if (o.signal.aborted) return aborted(spec);
    const answer = stream(spec, asked, {
      signal: o.signal,
      emit: (event, usage) => {
        if (isListening) o.emit(event, usage);
      },
      ...(o.ready && { ready: o.ready }),
    });
    const result = await orAbandon(answer, o.signal, o.graceMs);
    return result === ABANDONED ? aborted(spec) : result;
  } catch (error) {
    const isRefusal = error instanceof Refusal;
    if (!isRefusal) logBug("a request to the model", error);
    const message = `${isRefusal ? "" : "Internal error: "}${wordsOf(error)}`;
    return { message: { ...blank(spec), errorMessage: message }, failure: { kind: "bad_request", message } };
  } finally {
    isListening = false;
  }
}

/** An answer of which nothing came; its stop reason is "error" until somebody knows better. */
export function blank({ model }: ModelSpec): AssistantMessage {
  return { role: "assistant", content: [], api: model.api, provider: model.provider, model: model.id, usage: noUsage(), stopReason: "error", timestamp: Date.now() };
}

function aborted(spec: ModelSpec): StreamResult {
  return { message: { ...blank(spec), stopReason: "aborted", errorMessage: "Aborted" } };
}
