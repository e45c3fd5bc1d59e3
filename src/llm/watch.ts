import { LONGEST_TIMER_MS } from "../base/wait.ts";
import { RequestFailed } from "./failure.ts";
import type { Timeouts } from "./model.ts";

/** How long counts are waited for behind a whole answer: some servers neither send them nor say that they are done. */
const COUNTS_MS = 5000;

/**
 * Gives a request up that stays silent: no connection, no first content, or a pause within the content. Keep-alives
 * are no content. A limit of 0 is none. Time in which nobody read (`pause` to `resume`) does not count.
 */
export class Watch {
  readonly #timeouts: Timeouts;
  readonly #expire: (why: RequestFailed) => void;
  readonly #where: string;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #connectTimer: ReturnType<typeof setTimeout> | undefined;
  #hasContent = false;
  #isWhole = false;
  #isStopped = false;
  /** Since when the present wait lasts, pauses taken out. */
  #since = performance.now();
  #pausedAt: number | undefined;

  /** `isReachable` tells whether a connection can be made at all; it is asked when no response has come in time. */
  constructor(timeouts: Timeouts, where: string, isReachable: () => Promise<boolean>, expire: (why: RequestFailed) => void) {
    this.#timeouts = timeouts;
    this.#where = where;
    this.#expire = expire;
    this.#arm(timeouts.firstEventMs);
    const { connectMs, firstEventMs } = timeouts;
    if (connectMs > 0 && (firstEventMs <= 0 || connectMs < firstEventMs)) {
      this.#connectTimer = setTimeout(() => {
        this.#connectTimer = undefined;
        void isReachable().then((reachable) => {
          if (!reachable) this.#tell(`could not be reached within ${seconds(connectMs)}. Check the address, the network and the proxy.`);
        });
      }, Math.min(connectMs, LONGEST_TIMER_MS));
    }
  }

  /** The server has begun to answer. */
  responded(): void {
    clearTimeout(this.#connectTimer);
    this.#connectTimer = undefined;
  }

  /** Content has come; `isWhole`: the last of it. */
  content(isWhole: boolean): void {
    this.#since = performance.now();
    if (this.#hasContent && isWhole === this.#isWhole) return;
    this.#hasContent = true;
    this.#isWhole = isWhole;
    this.#arm(this.#limit);
  }

  pause(): void {
    this.#pausedAt ??= performance.now();
  }

  resume(): void {
    if (this.#pausedAt === undefined) return;
    this.#since += performance.now() - this.#pausedAt;
    this.#pausedAt = undefined;
  }

  stop(): void {
    this.responded();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isStopped = true;
  }

  get #limit(): number {
    const { firstEventMs, idleMs } = this.#timeouts;
    if (!this.#hasContent) return firstEventMs;
    return this.#isWhole && !(idleMs > 0 && idleMs < COUNTS_MS) ? COUNTS_MS : idleMs;
  }

  #arm(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = ms > 0 ? setTimeout(() => this.#check(), Math.min(ms, LONGEST_TIMER_MS)) : undefined;
  }

  #check(): void {
    const limit = this.#limit;
    const left = this.#pausedAt === undefined ? limit - (performance.now() - this.#since) : limit;
    if (left > 1) this.#arm(left);
    else if (this.#hasContent) this.#tell(`fell silent in the middle of its answer for ${seconds(limit)} (setting timeouts.idleMs).`);
    else this.#tell(`did not begin to answer within ${seconds(limit)} (setting timeouts.firstEventMs).`);
  }

  #tell(what: string): void {
    if (this.#isStopped) return;
    this.stop();
    this.#expire(new RequestFailed({ kind: "timeout", message: `The model at ${this.#where} ${what}` }));
  }
}

function seconds(ms: number): string {
  return `${Number((ms / 1000).toPrecision(3))} s`;
}
