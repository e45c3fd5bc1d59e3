import type { Target } from "./target.ts";

/** One number that a row gives. */
export interface Measured {
  what: string;
  value: number;
  unit: "ms" | "s" | "MB" | "/s" | "×";
  /** At most this much; at least, for a rate. */
  goal?: number;
  /** What the number was made from, in words. */
  note?: string;
}

export interface Row {
  /** By which it is chosen on the command line. */
  name: string;
  /** Whether pi has what it measures. */
  isForPi: boolean;
  measure(target: Target): Promise<Measured[]>;
}

export const MB = 1e6;

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Milliseconds that something takes. */
export async function timeMs(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
