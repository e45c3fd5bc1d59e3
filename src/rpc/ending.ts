import type { App } from "../app.ts";
import { flushLog, log, logBug } from "../base/log.ts";
import type { RecordWriter } from "../base/record-writer.ts";
import type { StdoutWatch } from "../base/stdout-watch.ts";
import { LONGEST_TIMER_MS } from "../base/wait.ts";
import type { Dispatcher } from "./dispatch.ts";

/** Between TERM and KILL while we go. */
const GRACE_MS = 300;
/** What a run, its tools and its answers get after a signal: pi's client kills after 1 s. */
const SIGNAL_BUDGET_MS = 550;
/** A last flush ends when the reader took nothing for so long. */
const FLUSH_STALL_MS = 3000;
/** Two signals so close together are one (a group signal beside a parent's). */
const SAME_SIGNAL_MS = 100;
const WATCH_EVERY_MS = 400;
const FIRST_WATCH_MS = 250;

/**
 * How rpi ends (protocol.md, section 11): end of input, a signal, a reader that is gone. Whatever comes
 * first decides; there is one way out, which stops what runs, answers what is open, writes what is due.
 */
export class Ending {
  /** Resolves with the exit code when everything is done. */
  readonly exitCode: Promise<number>;
  #exit!: (code: number) => void;
  #app: App | undefined;
  #dispatcher: Dispatcher | undefined;
  #began = false;
  #signalledAt: number | undefined;
  #draining = false;
  #code = 0;
  #watch: StdoutWatch | undefined;
  #timer: Timer | undefined;

  constructor(
    private readonly writer: RecordWriter,
    private readonly flags: { onEof: "drain" | "abort"; drainTimeoutMs?: number },
  ) {
    this.exitCode = new Promise((resolve) => { this.#exit = resolve; });
  }

  /** True once no more commands are taken. */
  get begun(): boolean {
    return this.#began;
  }

  watch(app: App, dispatcher: Dispatcher): void {
    this.#app = app;
    this.#dispatcher = dispatcher;
    this.#timer = setTimeout(() => void this.#watchReader(), FIRST_WATCH_MS);
    if (this.begun) void this.#stop();
  }

  /** The first signal begins an orderly end, or gives its code to one that is under way; another one, later than 100 ms, ends at once. */
  signal(code: number): void {
    const now = performance.now();
    if (this.#signalledAt !== undefined) {
      if (now - this.#signalledAt > SAME_SIGNAL_MS) this.#exit(this.#code || code);
      return;
    }
    this.#signalledAt = now;
    if (!this.#began) this.#begin(code);
    else if (!this.writer.dead) this.#code = code;
  }

  readerGone(): void {
    if (!this.#began) this.#begin(1);
  }

  #begin(code: number): void {
    this.#began = true;
    this.#code = code;
    if (this.#app) void this.#stop();
    // Still opening the session: nothing runs, nothing is owed.
    else this.#exit(code);
  }

  /** No more commands: what was accepted goes on to its end, then exit 0. */
  endOfInput(): void {
    if (this.#draining || this.begun) return;
    this.#draining = true;
    this.#drain().catch((error) => {
      logBug("the end of input", error);
      this.#exit(1);
    });
  }

  async #drain(): Promise<void> {
    const app = this.#app!;
    const dispatcher = this.#dispatcher!;
    let late = false;
    let timer: Timer | undefined;
    const timeout = new Promise<void>((resolve) => {
      const { drainTimeoutMs } = this.flags;
      if (drainTimeoutMs !== undefined) timer = setTimeout(() => { late = true; resolve(); }, Math.min(drainTimeoutMs, LONGEST_TIMER_MS));
    });
    await app.pause();
    const ended = Promise.race([timeout, this.exitCode]);
    while (!late && !this.begun && (dispatcher.busy || !app.agent.isIdle)) {
      // Each time, for what waited in the lane and has begun meanwhile.
      if (this.flags.onEof === "abort" && !app.agent.isIdle) await Promise.race([app.agent.abort(), ended]);
      else await Promise.race([dispatcher.busy ? dispatcher.nextChange() : app.agent.whenIdle(), ended]);
    }
    clearTimeout(timer);
    if (this.begun) return;
    this.#began = true;
    if (!late) return this.#finish();
    log("rpi: the run did not end within --drain-timeout; aborted");
    this.#code = 1;
    await this.#stop();
  }

  /** Abort, answer, stop children, write, exit: the way out after a signal and when nobody reads any more. */
  async #stop(): Promise<void> {
    const app = this.#app!;
    const dispatcher = this.#dispatcher!;
    const budget = Bun.sleep(SIGNAL_BUDGET_MS);
    dispatcher.stopBeginning();
    void app.pause();
    const settled = this.#settle(app, dispatcher);
    const stopped = app.stopChildren(GRACE_MS);
    await Promise.race([Promise.all([settled, stopped]), budget]);
    dispatcher.cancelAll();
    await this.#finish(stopped);
  }

  /** Resolves when nothing runs and all is answered; what was about to begin as the end came is aborted, too. */
  async #settle(app: App, dispatcher: Dispatcher): Promise<void> {
    await app.agent.abort(GRACE_MS);
    while (dispatcher.busy) {
      await dispatcher.nextChange();
      await app.agent.abort(GRACE_MS);
    }
  }

  async #finish(stopped?: Promise<void>): Promise<void> {
    clearTimeout(this.#timer);
    try {
      await this.#app!.close(GRACE_MS, stopped);
    } catch (error) {
      logBug("the shutdown", error);
      this.#code ||= 1;
    }
    this.#dispatcher!.cancelAll();
    if (!(await this.#lastFlush())) this.#code = 1;
    await flushLog(100);
    this.#exit(this.#code);
  }

  /** True when everything was written; false when the reader is gone or took nothing for 3 s. */
  async #lastFlush(): Promise<boolean> {
    const { writer } = this;
    let done = false;
    const written = writer.whenWritten().then(() => { done = true; });
    let mark = this.#progress();
    let since = performance.now();
    while (!done) {
      await Promise.race([written, Bun.sleep(200)]);
      // A slow reader takes a while for what one write holds; the pipe tells that it takes something.
      if (!done) this.#watch ??= await loadWatch();
      const now = this.#progress();
      if (now !== mark) {
        mark = now;
        since = performance.now();
      } else if (performance.now() - since > FLUSH_STALL_MS) return false;
    }
    return !writer.dead;
  }

  /** Changes whenever the reader takes something. */
  #progress(): string {
    return `${this.writer.taken} ${this.#watch?.unread() ?? ""}`;
  }

  /** Finds out, while nothing is written, that the reader is gone. */
  async #watchReader(): Promise<void> {
    this.#watch ??= await loadWatch();
    if (!this.#watch) return;
    const look = () => {
      if (this.begun) return;
      if (this.#watch!.isGone()) {
        this.writer.kill();
        return;
      }
      this.#timer = setTimeout(look, WATCH_EVERY_MS);
    };
    look();
  }
}

async function loadWatch(): Promise<StdoutWatch | undefined> {
  const { watchStdout } = await import("../base/stdout-watch.ts");
  return watchStdout();
}
