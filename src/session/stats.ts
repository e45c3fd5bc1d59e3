import type { Entry } from "./entry.ts";

/** Counts over every entry of a file, other branches and compacted ones too: what was paid for (section 6). */
export interface Stats {
  userMessages: number;
  assistantMessages: number;
  toolCalls: number;
  toolResults: number;
  /** Messages of every role. */
  totalMessages: number;
  tokens: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
  /** USD. */
  cost: number;
}

/** Counts of nothing, fresh each time. */
export function noStats(): Stats {
  return { userMessages: 0, assistantMessages: 0, toolCalls: 0, toolResults: 0, totalMessages: 0, tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }, cost: 0 };
}

/** Counts one more entry. Shapes are not trusted: files come from other programs too. */
export function count(stats: Stats, entry: Entry): void {
  if (entry.type === "usage" || entry.type === "branch_summary" || entry.type === "compaction") return pay(stats, entry.usage);
  if (entry.type !== "message") return;
  const message: { role?: unknown; content?: unknown; usage?: unknown } | null | undefined = entry.message;
  stats.totalMessages++;
  if (message?.role === "user") stats.userMessages++;
  else if (message?.role === "toolResult") stats.toolResults++;
  else if (message?.role === "assistant") {
    stats.assistantMessages++;
    if (Array.isArray(message.content)) for (const block of message.content) if (block?.type === "toolCall") stats.toolCalls++;
  } else return;
  pay(stats, message.usage);
}

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

function pay(stats: Stats, usage: unknown): void {
  if (typeof usage !== "object" || usage === null) return;
  const { tokens } = stats;
  for (const key of ["input", "output", "cacheRead", "cacheWrite"] as const) {
    const amount = (usage as Record<string, unknown>)[key];
    if (!isNumber(amount)) continue;
    tokens[key] += amount;
    tokens.total += amount;
  }
  const total = (usage as { cost?: { total?: unknown } }).cost?.total;
  if (isNumber(total)) stats.cost += total;
}
