import { Refusal } from "../base/refusal.ts";
import { wordsOf } from "../base/text.ts";
import type { CustomMessage } from "../session/message.ts";
import { parseInterval } from "./interval.ts";
import type { LoopStore } from "./loop-store.ts";
import { isoTime, type Loop, type LoopTask, taskOf } from "./loop-task.ts";

const MAX_LOOPS = 50;
const LIFETIME_MS = 7 * 86_400_000;
/** The clock of the system is looked at this often: it may have been set, or have slept, and timers do not see that. */
const MAX_WAIT_MS = 60_000;
/** What fell due while the session was closed waits this long, so that whoever resumes it can speak first. */
const RESTORED_GRACE_MS = 2000;

export type LoopEvent =
  | { type: "loop_created"; task: LoopTask; restored: boolean }
  | { type: "loop_updated"; task: LoopTask }
  /** `position` counts from 1. */
  | { type: "loop_queued"; taskId: string; position: number }
  | { type: "loop_fired"; taskId: string; firedAt: string }
  | { type: "loop_skipped"; taskId: string; reason: "already_running" | "already_queued" }
  | { type: "loop_finished"; taskId: string; finishedAt: string }
  | { type: "loop_failed"; taskId: string; error: string }
  | { type: "loop_removed"; taskId: string; reason: "deleted" | "cancelled" | "expired" | "session_changed" | "shutdown" }
  | { type: "notice"; level: "warning"; code: "loops_damaged" | "loops_unsaved"; message: string };

/** What the scheduler needs of the agent. */
export interface LoopHost {
  /** Nothing is under way: no run, no compaction, no direct command, no command that waits to begin a run. */
  isIdle(): boolean;
  /** Resolves when the agent rests; `isIdle` is asked again then. */
  whenIdle(): Promise<void>;
  /** Begins a run with this message, at once, and resolves when it has settled. Only called when idle. */
  fire(message: CustomMessage): Promise<{ aborted: boolean; stopReason: string; errorMessage?: string }>;
  /** Aborts the run that `fire` began. */
  abort(): void;
}

/** Time, as tests set it. */
export interface LoopClock {
  /** Epoch ms. */
  now(): number;
  /** Calls back once, never at once, and keeps no process alive; gives what cancels it. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: LoopClock = {
  now: Date.now,
  after(ms, run) {
    const timer = setTimeout(run, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

export interface LoopOptions {
  host: LoopHost;
  emit(event: LoopEvent): void;
  /** Absent for a session in memory: then no loop can be durable. */
  store?: LoopStore | undefined;
  clock?: LoopClock;
}

/**
 * The prompts on timers of one session. What is due waits until the agent rests and fires one at a time, in the order
 * in which it fell due; what is waiting or running when it falls due again is skipped. However far the clock jumps,
 * a loop falls due once. An abort ends a firing and nothing else: the loop stays, and those that wait keep their place.
 */
export class LoopScheduler {
  #loops: Loop[] = [];
  #waiting: Loop[] = [];
  #running: Loop | undefined;
  #isClosed = false;
  #isPaused = false;
  #isAwaitingIdle = false;
  #stopTimer: (() => void) | undefined;
  readonly #clock: LoopClock;

  constructor(private readonly o: LoopOptions) {
    this.#clock = o.clock ?? systemClock;
  }

  /** Brings the stored loops back and tells of each; to be called once, when the session has been told of. */
  restore(): void {
    const { loops, notices } = this.o.store?.load() ?? { loops: [], notices: [] };
    for (const message of notices) this.o.emit({ type: "notice", level: "warning", code: "loops_damaged", message });
    const now = this.#clock.now();
    const alive = loops.filter((loop) => loop.expiresAt > now).slice(0, MAX_LOOPS);
    for (const loop of alive) {
      loop.nextFireAt = Math.max(loop.nextFireAt, now + RESTORED_GRACE_MS);
      this.#loops.push(loop);
      this.o.emit({ type: "loop_created", task: taskOf(loop), restored: true });
    }
    if (alive.length < loops.length) this.#saveOrTell();
    for (const loop of loops) if (loop.expiresAt <= now) this.o.emit({ type: "loop_removed", taskId: loop.id, reason: "expired" });
    this.#arm();
  }

  /** Throws a Refusal. The first firing (`fireImmediately`, the default) begins after this has returned. */
  create(fields: { interval: string; prompt: string; fireImmediately?: boolean | undefined; durable?: boolean | undefined }): LoopTask {
    const intervalMs = parseInterval(fields.interval) * 1000;
    checkPrompt(fields.prompt);
    const durable = fields.durable ?? false;
    if (durable && !this.o.store) throw new Refusal("unavailable", "a durable loop needs a session file, and this session is in memory");
    if (this.#loops.length >= MAX_LOOPS) throw new Refusal("busy", `maximum of ${MAX_LOOPS} scheduled tasks reached`);
    const now = this.#clock.now();
    const loop: Loop = {
      id: crypto.randomUUID().slice(-12),
      interval: fields.interval,
      intervalMs,
      prompt: fields.prompt,
      durable,
      createdAt: now,
      lastFiredAt: null,
      nextFireAt: (fields.fireImmediately ?? true) ? now : now + intervalMs,
      expiresAt: now + LIFETIME_MS,
      runCount: 0,
    };
    this.#change(durable, () => [...this.#loops, loop]);
    this.o.emit({ type: "loop_created", task: taskOf(loop), restored: false });
    this.#arm();
    return taskOf(loop);
  }

  /** Throws a Refusal. A new interval counts from the last firing; a prompt is also that of a firing that waits. */
  update(fields: { taskId: string; interval?: string | undefined; prompt?: string | undefined }): LoopTask {
    const { taskId, interval, prompt } = fields;
    if (interval === undefined && prompt === undefined) throw new Refusal("invalid", "nothing to update; provide interval and/or prompt");
    const intervalMs = interval === undefined ? undefined : parseInterval(interval) * 1000;
    if (prompt !== undefined) checkPrompt(prompt);
    const loop = this.#loops.find((one) => one.id === taskId);
    if (!loop) throw new Refusal("not_found", `no scheduled loop with id ${taskId}`);
    const before = { ...loop };
    if (prompt !== undefined) loop.prompt = prompt;
    if (interval !== undefined && intervalMs !== undefined) {
      const now = this.#clock.now();
      Object.assign(loop, { interval, intervalMs });
      const next = (loop.lastFiredAt ?? loop.createdAt) + intervalMs;
      // What is due already stays due.
      if (loop.nextFireAt > now) loop.nextFireAt = next > now ? next : now + intervalMs;
    }
    try {
      this.#change(loop.durable, () => this.#loops);
    } catch (error) {
      Object.assign(loop, before);
      throw error;
    }
    this.o.emit({ type: "loop_updated", task: taskOf(loop) });
    this.#arm();
    return taskOf(loop);
  }

  /** In the order in which they were made. */
  list(): LoopTask[] {
    return this.#loops.map(taskOf);
  }

  /** Takes a loop away; a firing that is under way goes on to its end. False when there was none. */
  delete(taskId: string): boolean {
    return this.#remove(taskId, "deleted");
  }

  /** Takes a loop away and aborts its firing, should that be under way. False when there was none. */
  cancel(taskId: string): boolean {
    const isRunning = this.#running?.id === taskId;
    const was = this.#remove(taskId, "cancelled");
    if (was && isRunning) this.o.host.abort();
    return was;
  }

  /** No more firings from now on; the end of input does this while what was begun goes on. */
  pause(): void {
    this.#isPaused = true;
    this.#stop();
  }

  /** Ends everything and tells of each loop that goes. What is durable stays in the store. A firing is left to the caller to abort. */
  close(reason: "session_changed" | "shutdown"): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stop();
    this.#waiting = [];
    for (const { id } of this.#loops.splice(0)) this.o.emit({ type: "loop_removed", taskId: id, reason });
  }

  #remove(taskId: string, reason: "deleted" | "cancelled" | "expired"): boolean {
    const loop = this.#loops.find((one) => one.id === taskId);
    if (!loop) return false;
    this.#change(loop.durable, () => this.#loops.filter((one) => one !== loop));
    this.#waiting = this.#waiting.filter((one) => one !== loop);
    this.o.emit({ type: "loop_removed", taskId, reason });
    this.#arm();
    return true;
  }

  /** Takes new loops when they could be stored; throws a Refusal and changes nothing when they could not. */
  #change(isStored: boolean, make: () => Loop[]): void {
    const loops = make();
    if (isStored) {
      try {
        this.o.store?.save(loops.filter((loop) => loop.durable));
      } catch (error) {
        throw new Refusal("unavailable", `the loops could not be stored: ${wordsOf(error)}`);
      }
    }
    this.#loops = loops;
  }

  #saveOrTell(): void {
    try {
      this.o.store?.save(this.#loops.filter((loop) => loop.durable));
    } catch (error) {
      this.o.emit({ type: "notice", level: "warning", code: "loops_unsaved", message: `The loops of this session could not be stored: ${wordsOf(error)}` });
    }
  }

  #stop(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  #arm(): void {
    this.#stop();
    if (this.#isClosed || this.#isPaused || this.#loops.length === 0) return;
    const next = Math.min(...this.#loops.map((loop) => Math.min(loop.nextFireAt, loop === this.#running ? Infinity : loop.expiresAt)));
    const wait = Math.min(Math.max(0, next - this.#clock.now()), MAX_WAIT_MS);
    this.#stopTimer = this.#clock.after(wait, () => this.#tick());
  }

  #tick(): void {
    this.#stopTimer = undefined;
    const now = this.#clock.now();
    for (const loop of this.#loops) if (loop.expiresAt <= now && loop !== this.#running) this.#expire(loop);
    const due: Loop[] = [];
    for (const loop of this.#loops) {
      if (loop.nextFireAt <= now) due.push(loop);
      // The clock was set back: nobody waits longer than an interval.
      else if (loop.nextFireAt > now + loop.intervalMs) loop.nextFireAt = now + loop.intervalMs;
    }
    for (const loop of due.sort((a, b) => a.nextFireAt - b.nextFireAt)) this.#fallDue(loop, now);
    this.#arm();
  }

  #expire(loop: Loop): void {
    this.#loops = this.#loops.filter((one) => one !== loop);
    this.#waiting = this.#waiting.filter((one) => one !== loop);
    if (loop.durable) this.#saveOrTell();
    this.o.emit({ type: "loop_removed", taskId: loop.id, reason: "expired" });
  }

  #fallDue(loop: Loop, now: number): void {
    const next = loop.nextFireAt + loop.intervalMs;
    loop.nextFireAt = next > now ? next : now + loop.intervalMs;
    if (loop === this.#running) return this.o.emit({ type: "loop_skipped", taskId: loop.id, reason: "already_running" });
    if (this.#waiting.includes(loop)) return this.o.emit({ type: "loop_skipped", taskId: loop.id, reason: "already_queued" });
    this.#waiting.push(loop);
    this.#fireNext();
    const at = this.#waiting.indexOf(loop);
    if (at >= 0) this.o.emit({ type: "loop_queued", taskId: loop.id, position: at + 1 });
  }

  #fireNext(): void {
    if (this.#isClosed || this.#isPaused || this.#running || this.#waiting.length === 0) return;
    if (this.o.host.isIdle()) void this.#fire(this.#waiting.shift()!);
    else void this.#fireWhenIdle();
  }

  /** A timer's turn after the agent came to rest, so that a prompt that was waiting for that comes first. */
  async #fireWhenIdle(): Promise<void> {
    if (this.#isAwaitingIdle) return;
    this.#isAwaitingIdle = true;
    await this.o.host.whenIdle();
    this.#clock.after(0, () => {
      this.#isAwaitingIdle = false;
      this.#fireNext();
    });
  }

  async #fire(loop: Loop): Promise<void> {
    const now = this.#clock.now();
    this.#running = loop;
    loop.lastFiredAt = now;
    loop.runCount += 1;
    if (loop.durable) this.#saveOrTell();
    this.o.emit({ type: "loop_fired", taskId: loop.id, firedAt: isoTime(now) });
    let error: string | undefined;
    try {
      const end = await this.o.host.fire({ role: "custom", customType: "loop", content: loop.prompt, display: true, details: { taskId: loop.id }, timestamp: now });
      if (end.stopReason === "error" && !end.aborted) error = end.errorMessage ?? "the run failed";
    } catch (refused) {
      error = wordsOf(refused);
    }
    this.#running = undefined;
    // Of one that was taken away meanwhile the end has been told.
    if (this.#loops.includes(loop)) {
      if (error !== undefined) this.o.emit({ type: "loop_failed", taskId: loop.id, error });
      else this.o.emit({ type: "loop_finished", taskId: loop.id, finishedAt: isoTime(this.#clock.now()) });
    }
    if (this.#waiting.length > 0) void this.#fireWhenIdle();
    this.#arm();
  }
}

function checkPrompt(prompt: string): void {
  if (prompt.trim() === "") throw new Refusal("invalid", "loop prompt cannot be empty");
}
