import type { AssistantMessage, ToolResultMessage, Usage } from "../llm/message.ts";
import type { Model, StreamEvent } from "../llm/model.ts";
import type { AgentMessage } from "../session/message.ts";
import type { ToolResult } from "../tools/tool.ts";

/** What the agent tells, in the shapes of protocol.md section 9. */
export type AgentEvent =
  | { type: "agent_start" }
  | { type: "agent_end"; messages: AgentMessage[]; willRetry: boolean }
  | { type: "agent_settled"; aborted: boolean; promptIds?: (string | number)[]; stopReason: string; errorMessage?: string }
  | { type: "turn_start" }
  | { type: "turn_end"; message: AssistantMessage; toolResults: ToolResultMessage[] }
  | { type: "message_start" | "message_end"; message: AgentMessage }
  | { type: "message_update"; usage: Usage; assistantMessageEvent: StreamEvent }
  | { type: "tool_execution_start"; toolCallId: string; toolName: string; args: unknown }
  | { type: "tool_execution_update"; toolCallId: string; toolName: string; args: unknown; partialResult: ToolResult }
  | { type: "tool_execution_end"; toolCallId: string; toolName: string; result: ToolResult; isError: boolean; durationMs: number }
  | { type: "queue_update"; steering: string[]; followUp: string[] }
  | { type: "compaction_start"; reason: CompactionReason }
  | { type: "compaction_end"; reason: CompactionReason; result?: CompactionResult; aborted: boolean; willRetry: boolean; errorMessage?: string }
  | { type: "auto_retry_start"; attempt: number; maxAttempts: number; delayMs: number; errorMessage: string }
  | { type: "auto_retry_end"; success: boolean; attempt: number; finalError?: string }
  | { type: "summarization_retry_scheduled"; attempt: number; maxAttempts: number; delayMs: number; errorMessage: string }
  | { type: "summarization_retry_attempt_start"; source: string; reason?: string }
  | { type: "summarization_retry_finished" }
  | { type: "thinking_level_changed"; level: string }
  | { type: "model_changed"; model: Model }
  | { type: "session_info_changed"; name?: string }
  | { type: "bash_execution_update"; id?: string | number; delta: string }
  | { type: "notice"; level: "info" | "warning"; code: string; message: string };

export type CompactionReason = "manual" | "threshold" | "overflow";

export interface CompactionResult {
  summary: string;
  firstKeptEntryId: string;
  tokensBefore: number;
  estimatedTokensAfter?: number;
  usage?: Usage;
  details?: { readFiles: string[]; modifiedFiles: string[] };
}
