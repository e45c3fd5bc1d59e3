import type { ImageBlock, Message, TextBlock } from "../llm/message.ts";

/** A command that the client ran with `bash` (protocol.md, section 13). */
export interface BashExecutionMessage {
  role: "bashExecution";
  command: string;
  output: string;
  exitCode?: number;
  cancelled: boolean;
  truncated: boolean;
  fullOutputPath?: string;
  excludeFromContext?: boolean;
  timestamp: number;
}

/** A message that neither the user nor the model wrote: a loop's firing, an extension's note. The model sees it as the user's. */
export interface CustomMessage {
  role: "custom";
  customType: string;
  content: string | (TextBlock | ImageBlock)[];
  display: boolean;
  details?: unknown;
  timestamp: number;
}

export interface BranchSummaryMessage {
  role: "branchSummary";
  summary: string;
  fromId: string;
  timestamp: number;
}

export interface CompactionSummaryMessage {
  role: "compactionSummary";
  summary: string;
  tokensBefore: number;
  timestamp: number;
}

/** Read from files of others, never written. */
export interface SystemMessage {
  role: "system";
  content: string | (TextBlock | ImageBlock)[];
  timestamp: number;
}

/** Everything that can stand in a transcript. */
export type AgentMessage = Message | BashExecutionMessage | CustomMessage | BranchSummaryMessage | CompactionSummaryMessage | SystemMessage;
