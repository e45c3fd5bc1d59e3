import { LONGEST_TIMER_MS } from "../base/wait.ts";
import type { ByteSource } from "./byte-source.ts";
import type { Input } from "./input.ts";
import { Ladder } from "./ladder.ts";
import { deathBy, hasProcess, sendSignal } from "./signals.ts";
import { system } from "./system.ts";

/** Why a child has ended; the first reason wins. `exit`: by itself, or by somebody else's signal. */
export type EndReason = "exit" | "abort" | "timeout" | "stop";

export interface ChildEnd {
  why: EndReason;
  /** 128+n after signal n. */
  exitCode: number;
  /** The name of the signal that it died of. */
  signal?: string;
  /** It could not be ended; the rest is a guess. */
  isLost?: boolean;
}

export interface ChildParts {
  process: Bun.Subprocess;
  output: ByteSource | undefined;
  input: Input | undefined;
  /** Finds those of its descendants that made a session of their own. */
  findStrays: () => number[];
  /** Whether anybody is left who was started by it, in its group or not, as far as the system can tell. */
  isAnyMarked: () => boolean;
  /** The leader has exited. */
  onExit: (child: Child) => void;
  /** Nobody is left in its group. */
  onGroupGone: (child: Child) => void;
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  graceMs: number;
}


/** A program that was started, with its process group and all that it has started itself. Made by Children. */
export class Child {
  readonly pid: number;
  /** stdout and stderr in order; undefined on a terminal. Must be read on, or the child waits. */
  readonly output: ByteSource | undefined;
  /** Undefined when stdin is closed. */
  readonly input: Input | undefined;
  /**
   * When the program itself has exited; after an abort, a timeout or a stop only when its whole group and
   * its strays are gone too. Never rejects. After an exit by itself its group may live on.
   */
  readonly ended: Promise<ChildEnd>;
  readonly #parts: ChildParts;
  #settle!: (end: ChildEnd) => void;
  #why: EndReason | undefined;
  #exit: Omit<ChildEnd, "why"> | undefined;
  #isGroupGone = false;
  #ladder: Ladder | undefined;
  #letGo: () => void;

  constructor(parts: ChildParts) {
    this.#parts = parts;
    this.pid = parts.process.pid;
    this.output = parts.output;
    this.input = parts.input;
    this.ended = new Promise((resolve) => (this.#settle = resolve));
    this.#letGo = this.#watch();
    void parts.process.exited.then(() => this.#exited());
  }

  /** Whether the program itself has exited. */
  get hasExited(): boolean {
    return this.#exit !== undefined;
  }

  /** Whether it is being ended: by an abort, a timeout or a stop. */
  get isEnding(): boolean {
    return this.#ladder !== undefined;
  }

  /** Sends a signal to the whole group; nothing happens when it is gone. */
  signal(signal: NodeJS.Signals): void {
    if (!this.look()) system.signalGroup(this.pid, signal);
  }

  /**
   * Ends what is left of it and resolves when all are gone: false when some could not be ended.
   * A running ladder is hurried, never slowed.
   */
  stop(graceMs: number): Promise<boolean> {
    return this.#end("stop", graceMs);
  }

  /** Looks whether anybody is left in the group. True when nobody is, or (when it looks hard) only zombies are. */
  look(isHard = false): boolean {
    if (this.#isGroupGone || !this.#exit) return this.#isGroupGone;
    // A process with the leader's number after its exit is somebody else's: the number has been given anew.
    const isAlive = system.isGroupAlive(this.pid) && !hasProcess(this.pid);
    // Not every init buries what it inherits, and not soon.
    if (isAlive && !(isHard && system.isGroupOfZombies(this.pid))) return false;
    this.#isGroupGone = true;
    this.#parts.onGroupGone(this);
    return true;
  }

  #watch(): () => void {
    const { signal, timeoutMs, graceMs } = this.#parts;
    const abort = () => void this.#end("abort", graceMs);
    signal?.addEventListener("abort", abort, { once: true });
    const timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => void this.#end("timeout", graceMs), Math.min(timeoutMs, LONGEST_TIMER_MS));
    return () => {
      signal?.removeEventListener("abort", abort);
      clearTimeout(timer);
    };
  }

  #end(why: EndReason, graceMs: number): Promise<boolean> {
    this.#why ??= why;
    if (this.#ladder) {
      this.#ladder.hurry(graceMs);
      return this.#ladder.done;
    }
    this.#letGo();
    const ladder = new Ladder({ signal: (signal) => this.#signalAll(signal), isGone: () => this.#isGone() }, graceMs);
    this.#ladder = ladder;
    void ladder.done.then((isGone) => {
      // Another stop may come when what was out of reach has changed.
      if (!isGone) this.#ladder = undefined;
      this.#finish();
    });
    return ladder.done;
  }

  #exited(): void {
    const { exitCode, signalCode } = this.#parts.process;
    this.#exit = signalCode === null ? { exitCode: exitCode ?? 1 } : deathBy(signalCode);
    this.#why ??= "exit";
    this.#letGo();
    this.look();
    this.#parts.onExit(this);
    if (this.#ladder) this.#ladder.look();
    else this.#finish();
  }

  #finish(): void {
    this.#settle({ why: this.#why ?? "exit", ...(this.#exit ?? { ...deathBy("SIGKILL"), isLost: true }) });
  }

  #signalAll(signal: NodeJS.Signals): void {
    this.signal(signal);
    for (const pid of this.#parts.findStrays()) sendSignal(pid, signal);
  }

  #isGone(): boolean {
    // Not only strays: a member of the group that has just gone may have made one since the last look at all processes.
    return this.look(true) && !this.#parts.isAnyMarked();
  }
}
