import { logBug } from "../base/log.ts";
import { wordsOf } from "../base/text.ts";
import type { Failure } from "../llm/failure.ts";
import type { AssistantMessage, ToolCall, ToolResultMessage } from "../llm/message.ts";
import type { Model, ModelRequest, ModelSpec, StreamResult, ThinkingLevel, ToolSchema } from "../llm/model.ts";
import type { Session } from "../session/session.ts";
import type { Tool } from "../tools/tool.ts";
import { ask, blank, type Stream } from "./ask.ts";
import { runCalls } from "./calls.ts";
import type { AgentEvent } from "./events.ts";
import { messagesForModel } from "./messages-for-model.ts";
import { appendWithOutput } from "./stored-output.ts";
import { isOfSystem } from "./stored.ts";

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
  stream: Stream;
  /** The request without what the model was found not to take. */
  fit(request: ModelRequest, model: Model): ModelRequest;
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
    emit({ type: "message_start", message: { ...blank(spec), stopReason: "pending" } });
  };
  const answer = await ask(context.stream, spec, () => request(context, spec.model, level), {
    ...context,
    emit: (assistantMessageEvent, usage) => {
      if (!isBegun) begin();
      emit({ type: "message_update", usage, assistantMessageEvent });
    },
  });
  const end: TurnEnd = { message: explained(answer, context), toolResults: [], ...(answer.failure && { failure: answer.failure }) };
  try {
    session.append({ type: "message", message: end.message });
  } catch (error) {
    end.fault = unstored(error);
    end.message = { ...end.message, stopReason: "error", errorMessage: end.fault };
  }
  if (!isBegun) begin();
  emit({ type: "message_end", message: end.message });
  context.answered(end.message);
  if (end.message.stopReason === "stop" && saysNothing(end.message)) {
    emit({ type: "notice", level: "warning", code: "empty_answer", message: `${spec.model.provider}/${spec.model.id} ended its answer without saying anything.` });
  }
  if (end.fault === undefined) await answerCalls(context, end);
  context.afterResults();
  emit({ type: "turn_end", message: end.message, toolResults: end.toolResults });
  return end;
}

/** A turn that ends before its model call: the answer only says why. */
export function failedTurn(context: TurnContext, fault: string): TurnEnd {
  const message: AssistantMessage = { ...blank(context.choice().spec), errorMessage: fault };
  try {
    context.session.append({ type: "message", message });
  } catch {
    // Most likely this is what failed before, and `fault` says it.
  }
  context.emit({ type: "message_start", message: { ...message, stopReason: "pending" } });
  context.emit({ type: "message_end", message });
  context.afterResults();
  context.emit({ type: "turn_end", message, toolResults: [] });
  return { message, toolResults: [], fault };
}

/** Why a run ends that cannot write. */
export function unstored(error: unknown): string {
  if (!isOfSystem(error)) logBug("a session", error);
  return `The session could not be written, so the run ended: ${wordsOf(error)}`;
}

async function request({ equipment, session, fit }: TurnContext, model: Model, thinkingLevel: ThinkingLevel): Promise<ModelRequest> {
  const { systemPrompt, schemas } = await equipment();
  return fit({ systemPrompt, tools: schemas, messages: messagesForModel(session.messages()), thinkingLevel, sessionId: session.id }, model);
}

function explained({ message, failure }: StreamResult, context: TurnContext): AssistantMessage {
  const because = failure && context.because(failure);
  return because ? { ...message, errorMessage: `${message.errorMessage ?? failure.message} (${because})` } : message;
}

async function answerCalls(context: TurnContext, end: TurnEnd): Promise<void> {
  const calls = end.message.content.filter((block): block is ToolCall => block.type === "toolCall");
  if (!calls.length) return;
  const { session } = context;
  const tools = await context.equipment().then((equipment) => equipment.tools, noTools);
  const keep = (message: ToolResultMessage) => appendWithOutput(session, message);
  try {
    await runCalls(end.message, calls, { ...context, cwd: session.cwd, tools, keep }, (result) => end.toolResults.push(result));
  } catch (error) {
    end.fault = unstored(error);
  }
}

function saysNothing({ content }: AssistantMessage): boolean {
  return !content.some((block) => block.type === "toolCall" || (block.type === "text" && block.text.trim() !== ""));
}

/** A model that could be asked had its tools; without them the calls get results that say so. */
function noTools(error: unknown): ReadonlyMap<string, Tool> {
  logBug("the tools of a run", error);
  return new Map();
}
