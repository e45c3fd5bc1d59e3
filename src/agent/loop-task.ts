import { parseInterval } from "./interval.ts";

/** A prompt on a timer, as the wire and the store show it (protocol.md, section 7). Times are ISO 8601 UTC. */
export interface LoopTask {
  id: string;
  /** As it was given. */
  interval: string;
  intervalSecs: number;
  prompt: string;
  /** Comes back when the session is resumed. */
  durable: boolean;
  createdAt: string;
  lastFiredAt: string | null;
  nextFireAt: string;
  expiresAt: string;
  /** Firings that have begun. */
  runCount: number;
}

/** The same with times in epoch ms, to reckon with. */
export interface Loop {
  readonly id: string;
  interval: string;
  intervalMs: number;
  prompt: string;
  readonly durable: boolean;
  readonly createdAt: number;
  lastFiredAt: number | null;
  nextFireAt: number;
  readonly expiresAt: number;
  runCount: number;
}

export const isoTime = (ms: number): string => new Date(ms).toISOString();

/** A loop as it is shown and stored. */
export function taskOf(loop: Loop): LoopTask {
  return {
    id: loop.id,
    interval: loop.interval,
    intervalSecs: loop.intervalMs / 1000,
    prompt: loop.prompt,
    durable: loop.durable,
    createdAt: isoTime(loop.createdAt),
    lastFiredAt: loop.lastFiredAt === null ? null : isoTime(loop.lastFiredAt),
    nextFireAt: isoTime(loop.nextFireAt),
    expiresAt: isoTime(loop.expiresAt),
    runCount: loop.runCount,
  };
}

/** Reads what was stored, which may be anything. Undefined when it is no task. */
export function loopOf(stored: unknown): Loop | undefined {
  if (typeof stored !== "object" || stored === null) return undefined;
  const { id, interval, prompt, createdAt, lastFiredAt = null, nextFireAt, expiresAt, runCount = 0 } = stored as Record<keyof LoopTask, unknown>;
  if (typeof id !== "string" || id === "" || typeof interval !== "string" || typeof prompt !== "string" || prompt.trim() === "") return undefined;
  const times = [createdAt, nextFireAt, expiresAt, lastFiredAt ?? createdAt].map((time) => (typeof time === "string" ? Date.parse(time) : NaN));
  const [created, next, expires, last] = times as [number, number, number, number];
  if (times.some(Number.isNaN) || !Number.isSafeInteger(runCount)) return undefined;
  try {
    const intervalMs = parseInterval(interval) * 1000;
    return { id, interval, intervalMs, prompt, durable: true, createdAt: created, lastFiredAt: lastFiredAt === null ? null : last, nextFireAt: next, expiresAt: expires, runCount: runCount as number };
  } catch {
    // An interval that we would not take: no task of ours.
    return undefined;
  }
}
