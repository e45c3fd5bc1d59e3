import { Refusal } from "../base/refusal.ts";
import { LONGEST_TIMER_MS, untilAborted } from "../base/wait.ts";
import type { Children } from "./children.ts";
import type { Key } from "./keys.ts";
import type { OutputPiece } from "./output-events.ts";
import { faultInSpec, refuse, type ProcessSpec } from "./process-spec.ts";
import type { TerminalSize } from "./pty.ts";
import type { ProcessSignal } from "./signals.ts";
import { Supervised, type ProcessInfo, type ProcessLogs } from "./supervised.ts";

export type ProcessEvent =
  | { type: "process_started"; process: ProcessInfo }
  | ({ type: "process_output"; id: string; stream: "combined" } & OutputPiece)
  | { type: "process_exited"; process: ProcessInfo };

const MAX_RUNNING = 16;
const MAX_ENDED = 16;
const STOP_GRACE_MS = 1_000;
const DEFAULT_LIMIT_BYTES = 256 * 1024;

export interface SupervisorOptions {
  children: Children;
  /** Called synchronously, in order; process_exited comes after the last process_output. */
  emit(event: ProcessEvent): void;
  /** While true no process_output is emitted; the cursors show the gap. */
  pressed?(): boolean;
  /** Epoch ms. */
  now?(): number;
}

/** Long-lived processes that go on beside everything else. What it throws are Refusals. */
export class Supervisor {
  readonly #o: SupervisorOptions;
  /** By start; ended ones are dropped when there are too many. */
  readonly #processes = new Map<string, Supervised>();
  /** Ids of ended ones, by their end. */
  #ended: string[] = [];

  constructor(o: SupervisorOptions) {
    this.#o = o;
  }

  spawn(spec: ProcessSpec): ProcessInfo {
    refuse(faultInSpec(spec));
    const running = [...this.#processes.values()].filter((process) => !process.hasEnded).length;
    if (running >= MAX_RUNNING) throw new Refusal("busy", `process limit reached (maximum ${MAX_RUNNING})`);
    const { children, emit, pressed, now } = this.#o;
    const process: Supervised = new Supervised(spec, {
      children,
      isPressed: () => pressed?.() ?? false,
      onOutput: (piece) => emit({ type: "process_output", id: process.id, stream: "combined", ...piece }),
      now: now ?? Date.now,
    });
    this.#processes.set(process.id, process);
    const info = process.describe();
    emit({ type: "process_started", process: info });
    void process.ended.then(() => this.#hasEnded(process));
    return info;
  }

  /** By start. */
  list(): ProcessInfo[] {
    return [...this.#processes.values()].map((process) => process.describe());
  }

  describe(id: string): ProcessInfo {
    return this.#find(id).describe();
  }

  /** Output from `cursor` (default 0) on, at most `limitBytes` (default 256 KiB). */
  logs(id: string, o: { cursor?: number | undefined; limitBytes?: number | undefined } = {}): ProcessLogs {
    return this.#find(id).logs(o.cursor ?? 0, o.limitBytes ?? DEFAULT_LIMIT_BYTES);
  }

  /** Queues bytes for its stdin. `closeStdin` closes it behind them; on a PTY it sends EOT. */
  write(id: string, bytes: Uint8Array, o: { closeStdin?: boolean | undefined } = {}): void {
    this.#find(id).write(bytes, o.closeStdin ?? false);
  }

  keys(id: string, keys: readonly Key[]): void {
    this.#find(id).keys(keys);
  }

  resize(id: string, size: TerminalSize): void {
    this.#find(id).resize(size);
  }

  /** To the whole group; after the end nothing happens. */
  signal(id: string, signal: ProcessSignal): void {
    this.#find(id).signal(signal);
  }

  /** TERM, 1 s, KILL; resolves when it and all that it has started are gone. After the end too. */
  async stop(id: string): Promise<ProcessInfo> {
    const process = this.#find(id);
    await process.stop(STOP_GRACE_MS);
    return process.describe();
  }

  /** Resolves when it has ended, after its process_exited; rejects after `timeoutMs`. */
  async wait(id: string, timeoutMs?: number): Promise<ProcessInfo> {
    const process = this.#find(id);
    await withTimeout(process.ended, timeoutMs, `timed out waiting for process ${id}`);
    return process.describe();
  }

  /**
   * Resolves when there is output behind the cursor or the process has ended; rejects with the signal's reason
   * when that aborts first.
   */
  async untilOutput(id: string, cursor: number, signal: AbortSignal): Promise<void> {
    const process = this.#find(id);
    signal.throwIfAborted();
    while (!process.hasEnded && process.describe().outputCursor <= cursor) await untilAborted(process.untilChanged(), signal);
  }

  /** Ends all, what ended ones have left behind and those that are started meanwhile too, tells their ends, and forgets them. */
  async stopAll(graceMs: number): Promise<void> {
    do {
      const mine = [...this.#processes.values()];
      await Promise.all([...mine.map((process) => process.stop(graceMs)), this.#o.children.stopAll(graceMs, "process")]);
      for (const { id } of mine) this.#forget(id);
    } while (this.#processes.size > 0);
  }

  #hasEnded(process: Supervised): void {
    this.#o.emit({ type: "process_exited", process: process.describe() });
    this.#ended.push(process.id);
    while (this.#ended.length > MAX_ENDED) this.#forget(this.#ended[0]!);
  }

  #forget(id: string): void {
    this.#processes.delete(id);
    this.#ended = this.#ended.filter((ended) => ended !== id);
  }

  #find(id: string): Supervised {
    const process = this.#processes.get(id);
    if (!process) throw new Refusal("not_found", "process not found");
    return process;
  }
}

async function withTimeout(done: Promise<void>, timeoutMs: number | undefined, words: string): Promise<void> {
  if (timeoutMs === undefined) return done;
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Refusal("busy", words)), Math.min(timeoutMs, LONGEST_TIMER_MS));
  try {
    await Promise.race([done, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
