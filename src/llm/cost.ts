import type { Usage } from "./message.ts";
import type { Model } from "./model.ts";

const MILLION = 1_000_000;

/** Token counts as a provider gave them; what is missing or no number counts as nothing. */
export interface Counts {
  input?: unknown;
  output?: unknown;
  cacheRead?: unknown;
  cacheWrite?: unknown;
  reasoning?: unknown;
}

/** A provider's number as a count: 0 for anything that is not a positive, finite number. */
export function count(value: unknown): number {
  return typeof value === "number" && value > 0 && Number.isFinite(value) ? value : 0;
}

/** Writes the counts that are given (undefined and null leave the old value) and the sums and costs that follow from them. */
export function setUsage(usage: Usage, counts: Counts, price: Model["cost"]): void {
  if (counts.input != null) usage.input = count(counts.input);
  if (counts.output != null) usage.output = count(counts.output);
  if (counts.cacheRead != null) usage.cacheRead = count(counts.cacheRead);
  if (counts.cacheWrite != null) usage.cacheWrite = count(counts.cacheWrite);
  if (counts.reasoning != null) usage.reasoning = count(counts.reasoning);
  usage.totalTokens = usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
  usage.cost = costOf(usage, price);
}

/** USD of a usage at prices per million tokens. */
function costOf(usage: Pick<Usage, "input" | "output" | "cacheRead" | "cacheWrite">, price: Model["cost"]): Usage["cost"] {
  const input = (usage.input * price.input) / MILLION;
  const output = (usage.output * price.output) / MILLION;
  const cacheRead = (usage.cacheRead * price.cacheRead) / MILLION;
  const cacheWrite = (usage.cacheWrite * price.cacheWrite) / MILLION;
  return { input, output, cacheRead, cacheWrite, total: input + output + cacheRead + cacheWrite };
}
