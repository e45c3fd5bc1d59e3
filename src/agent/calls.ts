import { logBug } from "../base/log.ts";
import type { AssistantMessage, ToolCall, ToolResultMessage } from "../llm/message.ts";
import { argumentFault } from "../llm/tool-arguments.ts";
import { ToolFailure, type Tool, type ToolResult } from "../tools/tool.ts";
import { checkArguments } from "./arguments.ts";
import type { AgentEvent } from "./events.ts";
import { ABANDONED, orAbandon } from "./grace.ts";
import { Progress } from "./progress.ts";

export interface CallsContext {
  tools: ReadonlyMap<string, Tool>;
  cwd: string;
  signal: AbortSignal;
  /** How long a tool may go on after an abort. */
  graceMs(): number;
  emit(event: AgentEvent): void;
  ready?: (() => Promise<void> | undefined) | undefined;
  now(): number;
  /** Puts a result into the transcript; what it throws ends the phase. */
  keep(message: ToolResultMessage): void;
}

/** What the start of a result tells in full; a longer one comes with its end. */
const START_CHARS = 4096;

/**
 * The tool phase of a turn: starts in the model's order, work in parallel, ends as they finish, then the results in
 * the model's order. Every call gets an end and a result, also one that cannot run. `told` receives each result
 * once it is kept.
 */
export async function runCalls(message: AssistantMessage, calls: readonly ToolCall[], context: CallsContext, told: (result: ToolResultMessage) => void): Promise<void> {
  for (const call of calls) context.emit({ type: "tool_execution_start", toolCallId: call.id, toolName: call.name, args: call.arguments });
  const ended = await Promise.all(calls.map((call) => runCall(message, call, context)));
  for (const result of ended) {
    context.keep(result);
    told(result);
    context.emit({ type: "message_start", message: isLong(result) ? { ...result, content: [] } : result });
    context.emit({ type: "message_end", message: result });
  }
}

async function runCall(message: AssistantMessage, call: ToolCall, context: CallsContext): Promise<ToolResultMessage> {
  const begin = performance.now();
  const head = { toolCallId: call.id, toolName: call.name };
  let argsChars: number | undefined;
  const progress = new Progress(
    () => (argsChars ??= JSON.stringify(call.arguments).length),
    (partialResult) => context.emit({ type: "tool_execution_update", ...head, args: call.arguments, partialResult }),
  );
  const { isError = false, ...result } = await outcome(message, call, context, progress);
  progress.end();
  const durationMs = Math.round(performance.now() - begin);
  context.emit({ type: "tool_execution_end", ...head, result, isError, durationMs });
  return { role: "toolResult", ...head, ...result, isError, durationMs, timestamp: context.now() };
}

async function outcome(message: AssistantMessage, call: ToolCall, context: CallsContext, progress: Progress): Promise<ToolResult> {
  const { signal } = context;
  if (signal.aborted || message.stopReason === "aborted") return failure("Not run: the user aborted before it began.");
  if (message.stopReason === "error") return failure("Not run: the answer that asked for it failed before it was complete.");
  if (message.stopReason === "length") return failure("Not run: the answer was cut off by the output limit, so these arguments may be incomplete. Call it again with less in one call.");
  const tool = context.tools.get(call.name);
  if (!tool) return failure(`There is no tool named ${JSON.stringify(call.name)}. ${context.tools.size ? `The tools are: ${[...context.tools.keys()].join(", ")}.` : "There are no tools."}`);
  const broken = argumentFault(call);
  if (broken) return failure(`The arguments for ${call.name} could not be read: ${broken}. Call it again with one complete JSON object.`);
  try {
    const checked = checkArguments(tool, call.arguments);
    if ("fault" in checked) return failure(checked.fault);
    const work = tool.run(checked.args, {
      cwd: context.cwd,
      toolCallId: call.id,
      signal,
      update: (partial) => progress.update(partial),
      ...(context.ready && { ready: context.ready }),
    });
    const result = await orAbandon(work, signal, context.graceMs);
    if (result === ABANDONED) return failure("Aborted by the user. It did not stop in time and was left alone; what it did so far is unknown.");
    return sound(result, call);
  } catch (error) {
    if (signal.aborted) return failure(`Aborted by the user. ${error instanceof ToolFailure ? error.message : ""}`.trimEnd());
    if (!(error instanceof ToolFailure)) logBug(`the tool ${call.name}`, error);
    return failure(error instanceof Error ? error.message || error.name : String(error));
  }
}

function failure(text: string): ToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

/** Tools may be other people's code: what is no result becomes one. */
function sound(result: ToolResult, call: ToolCall): ToolResult {
  if (!Array.isArray(result?.content)) return failure(`The tool ${call.name} ended without a result.`);
  const { content, details, isError } = result;
  return { content, ...(details === undefined ? {} : { details }), ...(isError === true ? { isError } : {}) };
}

function isLong(message: ToolResultMessage): boolean {
  let chars = 0;
  for (const block of message.content) chars += block.type === "text" ? block.text.length : block.data.length;
  return chars > START_CHARS;
}
