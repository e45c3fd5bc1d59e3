import type { z as Z } from "zod";
import { QUEUE_MODES } from "../agent/queue.ts";
import { TODO_STATUSES } from "../agent/todo-graph.ts";
import type { Zod } from "../base/zod.ts";
import { THINKING_LEVELS } from "../llm/model.ts";

/**
 * The shapes that records share (protocol.md, sections 5 to 13), each built once, on first use. New keys may
 * be added to any record, so objects let unknown keys pass.
 */

/** Builds a schema on first use and keeps it, so that a schema used in ten places is one. */
export function once<T extends Z.ZodType>(make: (z: Zod) => T): (z: Zod) => T {
  let made: T | undefined;
  return (z) => (made ??= make(z));
}

/** A response without a payload. */
export const nothing = once((z) => z.null());

export const usage = once((z) => z.looseObject({
  input: z.number(), output: z.number(), cacheRead: z.number(), cacheWrite: z.number(), reasoning: z.number().optional(), totalTokens: z.number(),
  cost: z.looseObject({ input: z.number(), output: z.number(), cacheRead: z.number(), cacheWrite: z.number(), total: z.number() }),
}).meta({ id: "Usage" }));

const text = once((z) => z.looseObject({ type: z.literal("text"), text: z.string(), textSignature: z.string().optional() }).meta({ id: "TextContent" }));
const thinking = once((z) => z.looseObject({ type: z.literal("thinking"), thinking: z.string(), thinkingSignature: z.string().optional(), redacted: z.boolean().optional() }).meta({ id: "ThinkingContent" }));

/** Base64 without a data-URL prefix. */
export const image = once((z) => z.looseObject({ type: z.literal("image"), data: z.string().describe("base64, without a data-URL prefix"), mimeType: z.string() }).meta({ id: "ImageContent" }));

export const toolCall = once((z) => z.looseObject({
  type: z.literal("toolCall"), id: z.string(), name: z.string(), arguments: z.record(z.string(), z.unknown()), thoughtSignature: z.string().optional(),
}).meta({ id: "ToolCall" }));

const blocks = once((z) => z.array(z.discriminatedUnion("type", [text(z), image(z)])));
const content = once((z) => z.union([z.string(), blocks(z)]));

export const assistantMessage = once((z) => z.looseObject({
  role: z.literal("assistant"), content: z.array(z.discriminatedUnion("type", [text(z), thinking(z), toolCall(z)])),
  api: z.string(), provider: z.string(), model: z.string(), responseModel: z.string().optional(), responseId: z.string().optional(),
  usage: usage(z), stopReason: z.enum(["pending", "stop", "length", "toolUse", "error", "aborted"]), errorMessage: z.string().optional(),
  rawStopReason: z.string().optional(), thinkingLevel: z.string().optional(), durationMs: z.number().optional(), timestamp: z.number(),
}).meta({ id: "AssistantMessage" }));

export const toolResultMessage = once((z) => z.looseObject({
  role: z.literal("toolResult"), toolCallId: z.string(), toolName: z.string(), content: blocks(z), details: z.unknown().optional(),
  usage: usage(z).optional(), isError: z.boolean(), durationMs: z.number().optional(), timestamp: z.number(),
}).meta({ id: "ToolResultMessage" }));

/** Any message of a transcript (protocol.md, section 13). */
export const message = once((z) => z.discriminatedUnion("role", [
  z.looseObject({ role: z.literal("user"), content: content(z), timestamp: z.number() }),
  assistantMessage(z),
  toolResultMessage(z),
  z.looseObject({
    role: z.literal("bashExecution"), command: z.string(), output: z.string(), exitCode: z.number().optional(), cancelled: z.boolean(), truncated: z.boolean(),
    fullOutputPath: z.string().optional(), excludeFromContext: z.boolean().optional(), timestamp: z.number(),
  }),
  z.looseObject({ role: z.literal("custom"), customType: z.string(), content: content(z), display: z.boolean(), details: z.unknown().optional(), timestamp: z.number() }),
  z.looseObject({ role: z.literal("branchSummary"), summary: z.string(), timestamp: z.number() }),
  z.looseObject({ role: z.literal("compactionSummary"), summary: z.string(), timestamp: z.number() }),
  z.looseObject({ role: z.literal("system"), content: content(z), timestamp: z.number() }),
]).meta({ id: "AgentMessage" }));

export const level = once((z) => z.enum(THINKING_LEVELS).meta({ id: "ThinkingLevel" }));
export const queueMode = once((z) => z.enum(QUEUE_MODES));

export const model = once((z) => z.looseObject({
  id: z.string(), name: z.string(), api: z.string(), provider: z.string(), baseUrl: z.string(), reasoning: z.boolean(), input: z.array(z.enum(["text", "image"])),
  contextWindow: z.number().nullable(), maxTokens: z.number().nullable(),
  cost: z.looseObject({ input: z.number(), output: z.number(), cacheRead: z.number(), cacheWrite: z.number() }),
}).meta({ id: "Model" }));

export const toolResult = once((z) => z.looseObject({ content: blocks(z), details: z.unknown().optional() }).meta({ id: "ToolResult" }));

export const compactionResult = once((z) => z.looseObject({
  summary: z.string(), firstKeptEntryId: z.string(), tokensBefore: z.number(), estimatedTokensAfter: z.number().optional(), usage: usage(z).optional(),
  details: z.looseObject({ readFiles: z.array(z.string()), modifiedFiles: z.array(z.string()) }).optional(),
}).meta({ id: "CompactionResult" }));

/** A line of a session file (protocol.md, section 12); types of the future pass. */
export const entry = once((z) => z.looseObject({ type: z.string(), id: z.string(), parentId: z.string().nullable(), timestamp: z.string() }).meta({ id: "SessionEntry" }));

export const contextUsage = once((z) => z.looseObject({ tokens: z.number().nullable(), contextWindow: z.number().nullable(), percent: z.number().nullable() }));

export const todoStatus = once((z) => z.enum(TODO_STATUSES));

export const todoPhase = once((z) => z.looseObject({
  name: z.string(),
  tasks: z.array(z.looseObject({
    id: z.string(), content: z.string(), status: todoStatus(z), dependsOn: z.array(z.string()), ready: z.boolean(),
    blockedBy: z.array(z.looseObject({ taskId: z.string(), content: z.string(), status: todoStatus(z) })), agent: z.string().optional(),
  })),
}).meta({ id: "TodoPhase" }));

export const completedTask = once((z) => z.looseObject({ phase: z.string(), content: z.string() }));

export const loopTask = once((z) => z.looseObject({
  id: z.string(), interval: z.string(), intervalSecs: z.number(), prompt: z.string(), durable: z.boolean(), createdAt: z.string(),
  lastFiredAt: z.string().nullable(), nextFireAt: z.string(), expiresAt: z.string(), runCount: z.number(),
}).meta({ id: "LoopTask" }));

export const processState = once((z) => z.looseObject({
  id: z.string(), label: z.string().optional(), state: z.enum(["running", "stopping", "exited", "timed_out", "failed"]), pid: z.number().optional(), tty: z.boolean(),
  argv: z.array(z.string()), cwd: z.string(), startedAtMs: z.number(), exitedAtMs: z.number().optional(), exitCode: z.number().optional(), signal: z.string().optional(),
  outputStartCursor: z.number(), outputCursor: z.number(),
}).meta({ id: "ProcessInfo" }));
