import { z } from "zod";
import { assistantMessage, compactionResult, completedTask, entry, level, loopTask, message, model, once, processState, todoPhase, toolCall, toolResult, toolResultMessage, usage } from "./shapes.ts";

const requestId = () => z.union([z.string(), z.number()]);
const at = () => z.number().int().min(0);
const reason = once(() => z.enum(["manual", "threshold", "overflow"]));
const call = () => ({ toolCallId: z.string(), toolName: z.string() });
const retry = () => z.looseObject({ attempt: z.number(), maxAttempts: z.number(), delayMs: z.number(), errorMessage: z.string() });

const streamEvent = once(() => z.discriminatedUnion("type", [
  ...(["text", "thinking"] as const).flatMap((kind) => [
    z.looseObject({ type: z.literal(`${kind}_start`), contentIndex: at() }),
    z.looseObject({ type: z.literal(`${kind}_delta`), contentIndex: at(), delta: z.string() }),
    z.looseObject({ type: z.literal(`${kind}_end`), contentIndex: at(), content: z.string() }),
  ]),
  z.looseObject({ type: z.literal("toolcall_start"), contentIndex: at(), id: z.string(), toolName: z.string() }),
  z.looseObject({ type: z.literal("toolcall_delta"), contentIndex: at(), delta: z.string() }),
  z.looseObject({ type: z.literal("toolcall_end"), contentIndex: at(), toolCall: toolCall() }),
] as never).meta({ id: "AssistantMessageEvent" }));

/** The fields of every event by its `type` (protocol.md, section 9). */
export const events: Record<string, () => z.ZodObject> = {
  session_started: () => z.looseObject({
    data: z.looseObject({ version: z.number(), id: z.string(), timestamp: z.string(), cwd: z.string(), protocolVersion: z.number(), rpiVersion: z.string(), sessionFile: z.string().optional() }),
  }),
  agent_start: () => z.looseObject({}),
  agent_end: () => z.looseObject({ messages: z.array(message()), willRetry: z.boolean() }),
  agent_settled: () => z.looseObject({ aborted: z.boolean(), promptIds: z.array(requestId()).optional(), stopReason: z.string(), errorMessage: z.string().optional() }),
  turn_start: () => z.looseObject({}),
  turn_end: () => z.looseObject({ message: assistantMessage(), toolResults: z.array(toolResultMessage()) }),
  message_start: () => z.looseObject({ message: message() }),
  message_end: () => z.looseObject({ message: message() }),
  message_update: () => z.looseObject({ usage: usage(), assistantMessageEvent: streamEvent() }),
  tool_execution_start: () => z.looseObject({ ...call(), args: z.unknown() }),
  tool_execution_update: () => z.looseObject({ ...call(), args: z.unknown().optional(), partialResult: toolResult() }),
  tool_execution_end: () => z.looseObject({ ...call(), result: toolResult(), isError: z.boolean(), durationMs: z.number().optional() }),
  queue_update: () => z.looseObject({ steering: z.array(z.string()), followUp: z.array(z.string()) }),
  compaction_start: () => z.looseObject({ reason: reason() }),
  compaction_end: () => z.looseObject({ reason: reason(), result: compactionResult().optional(), aborted: z.boolean(), willRetry: z.boolean(), errorMessage: z.string().optional() }),
  auto_retry_start: retry,
  auto_retry_end: () => z.looseObject({ success: z.boolean(), attempt: z.number(), finalError: z.string().optional() }),
  summarization_retry_scheduled: retry,
  summarization_retry_attempt_start: () => z.looseObject({ source: z.string(), reason: z.string().optional() }),
  summarization_retry_finished: () => z.looseObject({}),
  thinking_level_changed: () => z.looseObject({ level: level() }),
  model_changed: () => z.looseObject({ model: model() }),
  session_info_changed: () => z.looseObject({ name: z.string().optional() }),
  entry_appended: () => z.looseObject({ entry: entry() }),
  bash_execution_update: () => z.looseObject({ id: requestId().optional(), delta: z.string() }),
  todo_updated: () => z.looseObject({ phases: z.array(todoPhase()), completedTasks: z.array(completedTask()) }),
  loop_created: () => z.looseObject({ task: loopTask(), restored: z.boolean() }),
  loop_updated: () => z.looseObject({ task: loopTask() }),
  loop_queued: () => z.looseObject({ taskId: z.string(), position: z.number() }),
  loop_fired: () => z.looseObject({ taskId: z.string(), firedAt: z.string() }),
  loop_skipped: () => z.looseObject({ taskId: z.string(), reason: z.string() }),
  loop_finished: () => z.looseObject({ taskId: z.string(), finishedAt: z.string() }),
  loop_failed: () => z.looseObject({ taskId: z.string(), error: z.string() }),
  loop_removed: () => z.looseObject({ taskId: z.string(), reason: z.string() }),
  process_started: () => z.looseObject({ process: processState() }),
  process_output: () => z.looseObject({ id: z.string(), stream: z.literal("combined"), startCursor: z.number(), cursor: z.number(), dataBase64: z.string() }),
  process_exited: () => z.looseObject({ process: processState() }),
  notice: () => z.looseObject({ level: z.enum(["info", "warning"]), code: z.string(), message: z.string() }),
};
