import { logBug } from "../base/log.ts";
import type { Failure } from "../llm/failure.ts";
import { noUsage, type AssistantMessage, type ToolCall, type ToolResultMessage } from "../llm/message.ts";
import type { ModelRequest, ModelSpec, StreamOptions, StreamResult, ThinkingLevel, ToolSchema } from "../llm/model.ts";
import type { Session } from "../session/session.ts";
import type { Tool } from "../tools/tool.ts";
import { runCalls } from "./calls.ts";
import type { AgentEvent } from "./events.ts";
import { ABANDONED, orAbandon } from "./grace.ts";
import { messagesForModel } from "./messages-for-model.ts";

/** What a model can do in this run: the same for all of its turns, so that prompt caches hold. */
export interface Equipment {
  tools: ReadonlyMap<string, Tool>;
  schemas: readonly ToolSchema[];
  systemPrompt: string;
}

export interface TurnContext {
  session: Session;
  emit(event: AgentEvent): void;
  ready?: (() => Promise<void> | undefined) | undefined;
  now(): number;
  signal: AbortSignal;
  graceMs(): number;
  /** The model and level of the next call; they may change between two. */
  choice(): { spec: ModelSpec; level: ThinkingLevel };
  equipment(): Promise<Equipment>;
  stream(spec: ModelSpec, request: ModelRequest, options: Omit<StreamOptions, "apiKey" | "timeouts">): Promise<StreamResult>;
  /** What is to be added to the words of a failure: why nothing more is tried. */
  because(failure: Failure): string | undefined;
  /** Called after each `message_end` of the model. */
  answered(message: AssistantMessage): void;
  /** Called when the results of the turn are in the transcript: what waited for that may follow them. */
  afterResults(): void;
}

export interface TurnEnd {
  message: AssistantMessage;
  toolResults: ToolResultMessage[];
  failure?: Failure;
  /** The transcript could not be written: nothing more can be done in this run. */
  fault?: string;
}

/** One call of the model and the tool phase that it asks for, from after `turn_start` to `turn_end`. Never rejects. */
export async function turn(context: TurnContext): Promise<TurnEnd> {
  const { session, emit } = context;
  const { spec, level } = context.choice();
  let isBegun = false;
  const begin = () => {
    isBegun = true;
    emit({ type: "message_start", message: { ...blank(spec, context.now()), stopReason: "pending" } });
  };
  const asked = await ask(context, spec, level, begin, () => isBegun);
  const end: TurnEnd = { message: explained(asked, context), toolResults: [], ...(asked.failure && { failure: asked.failure }) };
  try {
    session.append({ type: "message", message: end.message });
  } catch (error) {
    end.fault = unstored(error);
    end.message = { ...end.message, stopReason: "error", errorMessage: end.fault };
  }
  if (!isBegun) begin();
  emit({ type: "message_end", message: end.message });
  context.answered(end.message);
  const calls = end.fault === undefined ? end.message.content.filter((block): block is ToolCall => block.type === "toolCall") : [];
  if (calls.length) {
    try {
      const { tools } = await context.equipment();
      const keep = (message: ToolResultMessage) => void session.append({ type: "message", message });
      await runCalls(end.message, calls, { ...context, cwd: session.cwd, tools, keep }, (result) => end.toolResults.push(result));
    } catch (error) {
      end.fault = unstored(error);
    }
  }
  context.afterResults();
  emit({ type: "turn_end", message: end.message, toolResults: end.toolResults });
  return end;
}

/** A turn that ends before its model call: the answer only says why. */
export function failedTurn(context: TurnContext, why: string): TurnEnd {
  const message: AssistantMessage = { ...blank(context.choice().spec, context.now()), stopReason: "error", errorMessage: why };
  try {
    context.session.append({ type: "message", message });
  } catch {
    // Most likely this is what failed before, and `why` says it.
  }
  context.emit({ type: "message_start", message: { ...message, stopReason: "pending" } });
  context.emit({ type: "message_end", message });
  context.afterResults();
  context.emit({ type: "turn_end", message, toolResults: [] });
  return { message, toolResults: [], fault: why };
}

async function ask(context: TurnContext, spec: ModelSpec, level: ThinkingLevel, begin: () => void, isBegun: () => boolean): Promise<StreamResult> {
  const { signal, session, emit } = context;
  try {
    if (signal.aborted) return aborted(spec, context);
    const { systemPrompt, schemas } = await context.equipment();
    if (signal.aborted) return aborted(spec, context);
    let isListening = true;
    const request: ModelRequest = { systemPrompt, tools: schemas, messages: messagesForModel(session.messages()), thinkingLevel: level, sessionId: session.id };
    const answer = context.stream(spec, request, {
      signal,
      emit: (assistantMessageEvent, usage) => {
        if (!isListening) return;
        if (!isBegun()) begin();
        emit({ type: "message_update", usage, assistantMessageEvent });
      },
      ...(context.ready && { ready: context.ready }),
    });
    const result = await orAbandon(answer, signal, context.graceMs);
    isListening = false;
    return result === ABANDONED ? aborted(spec, context) : result;
  } catch (error) {
    logBug("a turn", error);
    const message = `Internal error: ${error instanceof Error ? error.message : String(error)}`;
    return { message: { ...blank(spec, context.now()), stopReason: "error", errorMessage: message }, failure: { kind: "bad_request", message } };
  }
}

function explained({ message, failure }: StreamResult, context: TurnContext): AssistantMessage {
  const because = failure && context.because(failure);
  return because ? { ...message, errorMessage: `${message.errorMessage ?? failure.message} (${because})` } : message;
}

function aborted(spec: ModelSpec, context: TurnContext): StreamResult {
  return { message: { ...blank(spec, context.now()), stopReason: "aborted", errorMessage: "Aborted" } };
}

function blank({ model }: ModelSpec, timestamp: number): AssistantMessage {
  return { role: "assistant", content: [], api: model.api, provider: model.provider, model: model.id, usage: noUsage(), stopReason: "error", timestamp };
}

export function unstored(error: unknown): string {
  return `The session could not be written, so the run ended: ${error instanceof Error ? error.message : String(error)}`;
}
