import type { ContextItem } from "../session/context.ts";
import type { AgentMessage } from "../session/message.ts";
import { estimateMessage } from "./compaction-estimate.ts";

/** An automatic compaction that would summarise less than this is not worth its request, and could come back every turn. */
export const AUTOMATIC_MIN_TOKENS = 1000;

/** Where a context is cut in two: what becomes a summary, and what stays word for word. */
export interface Cut {
  /** The entry of the first message that stays. */
  firstKeptEntryId: string;
  /** In order; without the summary of an earlier compaction. Never empty. */
  toSummarise: AgentMessage[];
  /** Where in `toSummarise` the turn begins whose rest stays, when the cut goes through one. */
  splitAt?: number;
  /** The summary that the context began with. */
  previousSummary?: string;
  /** Estimates. */
  summarisedTokens: number;
  keptTokens: number;
}

export interface CutOptions {
  /** The provider refused the context: keep no more than half of it, whatever the estimates say. */
  isOverflow?: boolean;
  /** The least that must be summarised, in tokens (1). */
  minTokens?: number;
}

/**
 * Finds where to cut a context (`contextOf` of the branch) so that about `keepTokens` of it stay. A tool call stays
 * with its results. The cut goes between turns where that keeps at least half of `keepTokens`, else through a turn.
 * More than `keepTokens` stay only when the last message (with the calls that it answers) is larger than that alone.
 * Undefined when there is nothing to summarise: everything fits, or what does not fit cannot be parted.
 */
export function findCut(items: readonly ContextItem[], keepTokens: number, { isOverflow = false, minTokens = 1 }: CutOptions = {}): Cut | undefined {
  const head = items[0]?.message;
  const begin = head?.role === "compactionSummary" ? 1 : 0;
  const sizes = items.map((item) => estimateMessage(item.message));
  const total = sum(sizes, begin, sizes.length);
  const budget = isOverflow ? Math.min(keepTokens, Math.floor(total / 2)) : keepTokens;
  if (total <= budget) return undefined;
  const at = place(items, sizes, begin, budget);
  if (at <= begin) return undefined;
  const summarisedTokens = sum(sizes, begin, at);
  if (summarisedTokens < minTokens) return undefined;
  const splitAt = isTurnStart(items[at]!.message) ? -1 : items.findLastIndex((item, i) => i >= begin && i < at && isTurnStart(item.message));
  return {
    firstKeptEntryId: items[at]!.entryId,
    toSummarise: items.slice(begin, at).map((item) => item.message),
    ...(splitAt < 0 ? {} : { splitAt: splitAt - begin }),
    ...(head?.role === "compactionSummary" ? { previousSummary: head.summary } : {}),
    summarisedTokens,
    keptTokens: total - summarisedTokens,
  };
}

/** The index of the first item to keep; `begin` or less when there is no place to cut. */
function place(items: readonly ContextItem[], sizes: readonly number[], begin: number, budget: number): number {
  const allowed = cutPlaces(items.map((item) => item.message));
  let between = -1;
  let betweenTokens = 0;
  let earliest = -1;
  let latest = -1;
  let kept = 0;
  for (let i = items.length - 1; i >= begin; i -= 1) {
    kept += sizes[i]!;
    if (!allowed[i]) continue;
    if (latest < 0) latest = i;
    if (kept > budget) break;
    earliest = i;
    if (isTurnStart(items[i]!.message)) [between, betweenTokens] = [i, kept];
  }
  if (between >= 0 && betweenTokens * 2 >= budget) return between;
  return earliest >= 0 ? earliest : latest;
}

/** Whether the kept part may begin with each message: never with a result, nor between a call and its results. */
function cutPlaces(messages: readonly AgentMessage[]): boolean[] {
  /** For each answer, where the last result of its calls stands. */
  const reach = new Map<number, number>();
  /** Ids are unique within an answer only, so the latest call of an id is meant. */
  const callAt = new Map<string, number>();
  for (const [i, message] of messages.entries()) {
    if (message.role === "assistant") {
      for (const block of message.content) if (block.type === "toolCall") callAt.set(block.id, i);
    } else if (message.role === "toolResult") {
      const at = callAt.get(message.toolCallId);
      if (at !== undefined) reach.set(at, i);
    }
  }
  let until = -1;
  return messages.map((message, i) => {
    const isFree = i > until && message.role !== "toolResult" && message.role !== "compactionSummary" && !isNothing(message);
    until = Math.max(until, reach.get(i) ?? -1);
    return isFree;
  });
}

/** A failed answer says nothing to the model: kept alone it would keep nothing, so it stays with what it answers. */
function isNothing(message: AgentMessage): boolean {
  return message.role === "assistant" && (message.stopReason === "error" || message.content.length === 0);
}

function isTurnStart(message: AgentMessage): boolean {
  return message.role === "user" || message.role === "custom";
}

function sum(sizes: readonly number[], from: number, to: number): number {
  let tokens = 0;
  for (let i = from; i < to; i += 1) tokens += sizes[i]!;
  return tokens;
}
