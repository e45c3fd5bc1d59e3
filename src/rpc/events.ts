import type { z as Z } from "zod";
import type { Zod } from "../base/zod.ts";
import { assistantMessage, compactionResult, completedTask, entry, level, loopTask, message, model, once, processState, todoPhase, toolCall, toolResult, toolResultMessage, usage } from "./shapes.ts";

const requestId = (z: Zod) => z.union([z.string(), z.number()]);
const at = (z: Zod) => z.number().int().min(0);
const reason = once((z) => z.enum(["manual", "threshold", "overflow"]));
const call = (z: Zod) => ({ toolCallId: z.string(), toolName: z.string() });
const retry = (z: Zod) => ({ attempt: z.number(), maxAttempts: z.number(), delayMs: z.number(), errorMessage: z.string() });

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

export interface Event {
  /** A sentence for the schema. */
  summary: string;
  fields?(z: Zod): Z.ZodRawShape;
}

/** Every event by its `type` (protocol.md, section 9). */
export const events: Record<string, Event> = {
  session_started: {
    summary: "The first record, and again whenever another session takes the place of this one.",
    fields: (z) => ({ data: z.looseObject({ version: z.number(), id: z.string(), timestamp: z.string(), cwd: z.string(), protocolVersion: z.number(), rpiVersion: z.string(), sessionFile: z.string().optional() }) }),
  },
  agent_start: { summary: "A run begins, or goes on after a retry or a compaction." },
  agent_end: {
    summary: "The model and its tools are at rest; with `willRetry` the run goes on by itself.",
    fields: (z) => ({ messages: z.array(message(z)), willRetry: z.boolean() }),
  },
  agent_settled: {
    summary: "The end of a run, exactly one for each: nothing more comes of it. `promptIds` are the ids of the requests that it answered.",
    fields: (z) => ({ aborted: z.boolean(), promptIds: z.array(requestId(z)).optional(), stopReason: z.string(), errorMessage: z.string().optional() }),
  },
  turn_start: { summary: "A call of the model begins, with the tools that it leads to." },
  turn_end: { summary: "A call of the model has ended, and its tools.", fields: (z) => ({ message: assistantMessage(z), toolResults: z.array(toolResultMessage(z)) }) },
  message_start: { summary: "A message begins; one of the assistant is empty yet.", fields: (z) => ({ message: message(z) }) },
  message_end: { summary: "A message is complete, as it is kept.", fields: (z) => ({ message: message(z) }) },
  message_update: { summary: "The assistant's message grows.", fields: (z) => ({ usage: usage(z), assistantMessageEvent: streamEvent(z) }) },
  tool_execution_start: { summary: "A tool begins.", fields: (z) => ({ ...call(z), args: z.unknown() }) },
  tool_execution_update: {
    summary: "What a tool that runs has to show so far.",
    fields: (z) => ({ ...call(z), args: z.unknown().optional(), partialResult: toolResult(z) }),
  },
  tool_execution_end: { summary: "A tool has ended.", fields: (z) => ({ ...call(z), result: toolResult(z), isError: z.boolean(), durationMs: z.number().optional() }) },
  queue_update: { summary: "The messages that wait now, whenever they change.", fields: (z) => ({ steering: z.array(z.string()), followUp: z.array(z.string()) }) },
  compaction_start: { summary: "A summary is about to take the place of older talk.", fields: (z) => ({ reason: reason(z) }) },
  compaction_end: {
    summary: "A compaction has ended, well or not.",
    fields: (z) => ({ reason: reason(z), result: compactionResult(z).optional(), aborted: z.boolean(), willRetry: z.boolean(), errorMessage: z.string().optional() }),
  },
  auto_retry_start: { summary: "The provider failed in passing; the model is called again after `delayMs`.", fields: retry },
  auto_retry_end: { summary: "The retries have ended, well or not.", fields: (z) => ({ success: z.boolean(), attempt: z.number(), finalError: z.string().optional() }) },
  summarization_retry_scheduled: { summary: "A summary failed in passing; it is asked for again after `delayMs`.", fields: retry },
  summarization_retry_attempt_start: { summary: "A summary is asked for again.", fields: (z) => ({ source: z.string(), reason: z.string().optional() }) },
  summarization_retry_finished: { summary: "The retries of a summary have ended." },
  thinking_level_changed: { summary: "Another thinking level is in use.", fields: (z) => ({ level: level(z) }) },
  model_changed: { summary: "Another model is in use.", fields: (z) => ({ model: model(z) }) },
  session_info_changed: { summary: "The session has another name, or none.", fields: (z) => ({ name: z.string().optional() }) },
  entry_appended: { summary: "An extension has added an entry to the session.", fields: (z) => ({ entry: entry(z) }) },
  bash_execution_update: { summary: "More output of the `bash` command with this id.", fields: (z) => ({ id: requestId(z).optional(), delta: z.string() }) },
  todo_updated: { summary: "The plan after a change.", fields: (z) => ({ phases: z.array(todoPhase(z)), completedTasks: z.array(completedTask(z)) }) },
  loop_created: { summary: "There is another loop; `restored` when it came with the session.", fields: (z) => ({ task: loopTask(z), restored: z.boolean() }) },
  loop_updated: { summary: "A loop has another interval or prompt.", fields: (z) => ({ task: loopTask(z) }) },
  loop_queued: { summary: "A loop is due and waits until the agent is idle.", fields: (z) => ({ taskId: z.string(), position: z.number() }) },
  loop_fired: { summary: "A loop begins a run.", fields: (z) => ({ taskId: z.string(), firedAt: z.string() }) },
  loop_skipped: { summary: "A loop was due while it still waited or ran.", fields: (z) => ({ taskId: z.string(), reason: z.string() }) },
  loop_finished: { summary: "The run of a loop has ended.", fields: (z) => ({ taskId: z.string(), finishedAt: z.string() }) },
  loop_failed: { summary: "The run of a loop has failed.", fields: (z) => ({ taskId: z.string(), error: z.string() }) },
  loop_removed: { summary: "A loop is gone.", fields: (z) => ({ taskId: z.string(), reason: z.string() }) },
  process_started: { summary: "A process was started.", fields: (z) => ({ process: processState(z) }) },
  process_output: {
    summary: "A piece of what a process writes; cursors count bytes since its start.",
    fields: (z) => ({ id: z.string(), stream: z.literal("combined"), startCursor: z.number(), cursor: z.number(), dataBase64: z.string() }),
  },
  process_exited: { summary: "A process has ended; all its output came before.", fields: (z) => ({ process: processState(z) }) },
  notice: { summary: "Something was skipped, clamped or repaired.", fields: (z) => ({ level: z.enum(["info", "warning"]), code: z.string(), message: z.string() }) },
};
