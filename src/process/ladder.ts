/** After KILL the kernel may hold a process for good (a dead disk); nobody waits for it longer than this. */
const GIVE_UP_MS = 2_000;

/** What a ladder ends. */
export interface Prey {
  /** To all that are left; strays too. */
  signal(signal: NodeJS.Signals): void;
  isGone(): boolean;
}

/**
 * The one way in which children end: TERM, after the grace KILL, then wait until all are gone.
 * The grace can be shortened while it runs.
 */
export class Ladder {
  /** True when all are gone, false when some could not be ended. */
  readonly done: Promise<boolean>;
  readonly #prey: Prey;
  #killAt: number;
  #wake: (() => void) | undefined;

  constructor(prey: Prey, graceMs: number) {
    this.#prey = prey;
    this.#killAt = performance.now() + graceMs;
    this.done = this.#climb();
  }

  /** KILL comes at the latest this long from now. */
  hurry(graceMs: number): void {
    const killAt = performance.now() + graceMs;
    if (killAt >= this.#killAt) return;
    this.#killAt = killAt;
    this.#wake?.();
  }

  /** Something has ended: look at once. */
  look(): void {
    this.#wake?.();
  }

  async #climb(): Promise<boolean> {
    this.#prey.signal("SIGTERM");
    let pauseMs = 2;
    while (performance.now() < this.#killAt) {
      if (this.#prey.isGone()) return true;
      await this.#pause(Math.min(pauseMs, this.#killAt - performance.now()));
      pauseMs = Math.min(pauseMs * 2, 50);
    }
    const killedAt = performance.now();
    for (pauseMs = 2; ; pauseMs = Math.min(pauseMs * 2, 50)) {
      // Each time, for those that have been forked meanwhile.
      this.#prey.signal("SIGKILL");
      await this.#pause(pauseMs);
      if (this.#prey.isGone()) return true;
      if (performance.now() - killedAt > GIVE_UP_MS) return false;
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake?.(), Math.max(ms, 0));
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve();
      };
    });
  }
}
