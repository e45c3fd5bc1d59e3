import type { ImageBlock, TextBlock, Usage } from "../llm/message.ts";
import type { AgentMessage } from "./message.ts";

/** The version of session files that we write (protocol.md, section 12). */
export const SESSION_VERSION = 3;

/** Line 1 of a session file. */
export interface SessionHeader {
  type: "session";
  version: number;
  id: string;
  /** ISO 8601. */
  timestamp: string;
  cwd: string;
  /** Path of the session file that this one was forked from or follows. */
  parentSession?: string;
}

/** What each entry has. `parentId` is null for a root. */
export interface EntryHead {
  /** 8 hex digits in files that we write, unique in the file. */
  id: string;
  parentId: string | null;
  /** ISO 8601. */
  timestamp: string;
}

export type Blocks = (TextBlock | ImageBlock)[];

export interface MessageBody {
  type: "message";
  message: AgentMessage;
  /** The `queue` entry that this message was accepted with: once this stands in the file, that one is delivered. */
  queueId?: string;
}

export interface ModelChangeBody {
  type: "model_change";
  provider: string;
  modelId: string;
}

export interface ThinkingLevelChangeBody {
  type: "thinking_level_change";
  thinkingLevel: string;
}

export interface CompactionBody {
  type: "compaction";
  summary: string;
  /** The first entry of the branch that stays in the context; the entry's own id keeps none. */
  firstKeptEntryId: string;
  tokensBefore: number;
  details?: unknown;
  usage?: Usage;
  fromHook?: boolean;
}

export interface BranchSummaryBody {
  type: "branch_summary";
  /** The leaf of the branch that was left. */
  fromId: string;
  summary: string;
  details?: unknown;
  usage?: Usage;
  fromHook?: boolean;
}

/** State of an extension; never shown to the model. */
export interface CustomBody {
  type: "custom";
  customType: string;
  data?: unknown;
}

/** A message of an extension or a loop; the model sees it. */
export interface CustomMessageBody {
  type: "custom_message";
  customType: string;
  content: string | Blocks;
  display: boolean;
  details?: unknown;
}

/** A bookmark on an entry; without `label` it is taken away. Does not move the leaf. */
export interface LabelBody {
  type: "label";
  targetId: string;
  label?: string;
}

/** The name that people see; an empty one clears it. */
export interface SessionInfoBody {
  type: "session_info";
  name: string;
}

/** Tokens that were paid for outside of the talk. */
export interface UsageBody {
  type: "usage";
  kind: string;
  provider: string;
  model: string;
  usage: Usage;
}

/** Changes what the model sees of an earlier entry of the branch; the entry itself stays. Null hides it. */
export interface ContextEditBody {
  type: "context_edit";
  targetId: string;
  replacement: { content: string | AnyBlocks } | null;
}

type AnyBlocks = readonly { type: string }[];

/** The whole plan, after a change of it. */
export interface TodoSnapshotBody {
  type: "todo_snapshot";
  state: unknown;
}

/** A message that was accepted and waits for its delivery. Does not move the leaf. */
export interface QueueAddBody {
  type: "queue";
  op: "add";
  kind: "steer" | "followUp";
  content: string | Blocks;
  /** The id of the request that brought it. */
  requestId?: string | number;
  /** The entry's own id, written only where another program may replace ids (see migrate.ts). */
  queueId?: string;
}

/** Accepted messages that were handed back and will not be delivered. Does not move the leaf. */
export interface QueueClearBody {
  type: "queue";
  op: "clear";
  ids: string[];
}

/** An entry without its head: what `Session.append` takes. */
export type EntryBody =
  | MessageBody
  | ModelChangeBody
  | ThinkingLevelChangeBody
  | CompactionBody
  | BranchSummaryBody
  | CustomBody
  | CustomMessageBody
  | LabelBody
  | SessionInfoBody
  | UsageBody
  | ContextEditBody
  | TodoSnapshotBody
  | QueueAddBody
  | QueueClearBody;

/**
 * A line of a session file after the first. Entries of a type that is not listed here occur in files of others:
 * they are kept, given out and ignored, so code that looks at `type` must have a way out.
 */
export type Entry = EntryBody & EntryHead;

/** Whether an entry becomes the leaf, that is the parent of the next one. */
export function movesLeaf(type: string): boolean {
  return type !== "label" && type !== "queue";
}
