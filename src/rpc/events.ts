import type { z as Z } from "zod";
import type { Zod } from "../base/zod.ts";
import { assistantMessage, compactionResult, completedTask, entry, level, loopTask, message, model, once, processState, todoPhase, toolCall, toolResult, toolResultMessage, usage } from "./shapes.ts";

const requestId = (z: Zod) => z.union([z.string(), z.number()]);
const at = (z: Zod) => z.number().int().min(0);
const reason = once((z) => z.enum(["manual", "threshold", "overflow"]));
const call = (z: Zod) => ({ toolCallId: z.string(), toolName: z.string() });
const retry = (z: Zod) => z.looseObject({ attempt: z.number(), maxAttempts: z.number(), delayMs: z.number(), errorMessage: z.string() });

const streamEvent = once((z) => z.discriminatedUnion("type", [
  ...(["text", "thinking"] as const).flatMap((kind) => [
    z.looseObject({ type: z.literal(`${kind}_start`), contentIndex: at(z) }),
    z.looseObject({ type: z.literal(`${kind}_delta`), contentIndex: at(z), delta: z.string() }),
    z.looseObject({ type: z.literal(`${kind}_end`), contentIndex: at(z), content: z.string() }),
  ]),
  z.looseObject({ type: z.literal("toolcall_start"), contentIndex: at(z), id: z.string(), toolName: z.string() }),
  z.looseObject({ type: z.literal("toolcall_delta"), contentIndex: at(z), delta: z.string() }),
  z.looseObject({ type: z.literal("toolcall_end"), contentIndex: at(z), toolCall: toolCall(z) }),
] as never).meta({ id: "AssistantMessageEvent" }));

/** The fields of every event by its `type` (protocol.md, section 9). */
export const events: Record<string, (z: Zod) => Z.ZodObject> = {
  session_started: (z) => z.looseObject({
    data: z.looseObject({ version: z.number(), id: z.string(), timestamp: z.string(), cwd: z.string(), protocolVersion: z.number(), rpiVersion: z.string(), sessionFile: z.string().optional() }),
  }),
  agent_start: (z) => z.looseObject({}),
  agent_end: (z) => z.looseObject({ messages: z.array(message(z)), willRetry: z.boolean() }),
  agent_settled: (z) => z.looseObject({ aborted: z.boolean(), promptIds: z.array(requestId(z)).optional(), stopReason: z.string(), errorMessage: z.string().optional() }),
  turn_start: (z) => z.looseObject({}),
  turn_end: (z) => z.looseObject({ message: assistantMessage(z), toolResults: z.array(toolResultMessage(z)) }),
  message_start: (z) => z.looseObject({ message: message(z) }),
  message_end: (z) => z.looseObject({ message: message(z) }),
  message_update: (z) => z.looseObject({ usage: usage(z), assistantMessageEvent: streamEvent(z) }),
  tool_execution_start: (z) => z.looseObject({ ...call(z), args: z.unknown() }),
  tool_execution_update: (z) => z.looseObject({ ...call(z), args: z.unknown().optional(), partialResult: toolResult(z) }),
  tool_execution_end: (z) => z.looseObject({ ...call(z), result: toolResult(z), isError: z.boolean(), durationMs: z.number().optional() }),
  queue_update: (z) => z.looseObject({ steering: z.array(z.string()), followUp: z.array(z.string()) }),
  compaction_start: (z) => z.looseObject({ reason: reason(z) }),
  compaction_end: (z) => z.looseObject({ reason: reason(z), result: compactionResult(z).optional(), aborted: z.boolean(), willRetry: z.boolean(), errorMessage: z.string().optional() }),
  auto_retry_start: retry,
  auto_retry_end: (z) => z.looseObject({ success: z.boolean(), attempt: z.number(), finalError: z.string().optional() }),
  summarization_retry_scheduled: retry,
  summarization_retry_attempt_start: (z) => z.looseObject({ source: z.string(), reason: z.string().optional() }),
  summarization_retry_finished: (z) => z.looseObject({}),
  thinking_level_changed: (z) => z.looseObject({ level: level(z) }),
  model_changed: (z) => z.looseObject({ model: model(z) }),
  session_info_changed: (z) => z.looseObject({ name: z.string().optional() }),
  entry_appended: (z) => z.looseObject({ entry: entry(z) }),
  bash_execution_update: (z) => z.looseObject({ id: requestId(z).optional(), delta: z.string() }),
  todo_updated: (z) => z.looseObject({ phases: z.array(todoPhase(z)), completedTasks: z.array(completedTask(z)) }),
  loop_created: (z) => z.looseObject({ task: loopTask(z), restored: z.boolean() }),
  loop_updated: (z) => z.looseObject({ task: loopTask(z) }),
  loop_queued: (z) => z.looseObject({ taskId: z.string(), position: z.number() }),
  loop_fired: (z) => z.looseObject({ taskId: z.string(), firedAt: z.string() }),
  loop_skipped: (z) => z.looseObject({ taskId: z.string(), reason: z.string() }),
  loop_finished: (z) => z.looseObject({ taskId: z.string(), finishedAt: z.string() }),
  loop_failed: (z) => z.looseObject({ taskId: z.string(), error: z.string() }),
  loop_removed: (z) => z.looseObject({ taskId: z.string(), reason: z.string() }),
  process_started: (z) => z.looseObject({ process: processState(z) }),
  process_output: (z) => z.looseObject({ id: z.string(), stream: z.literal("combined"), startCursor: z.number(), cursor: z.number(), dataBase64: z.string() }),
  process_exited: (z) => z.looseObject({ process: processState(z) }),
  notice: (z) => z.looseObject({ level: z.enum(["info", "warning"]), code: z.string(), message: z.string() }),
};
