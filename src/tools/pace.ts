const SLICE_MS = 8;

/** Long work in slices: between them everything else of the process gets its turn, and an abort is seen. */
export class Pace {
  readonly #signal: AbortSignal;
  readonly #endAt: number;
  #sliceEndAt = performance.now() + SLICE_MS;

  constructor(signal: AbortSignal, budgetMs: number) {
    this.#signal = signal;
    this.#endAt = performance.now() + budgetMs;
    signal.throwIfAborted();
  }

  /** Time for `rest`; cheap enough to be asked often. */
  get isDue(): boolean {
    return performance.now() >= this.#sliceEndAt;
  }

  /** The budget is used up: stop with what there is. */
  get isOver(): boolean {
    return performance.now() >= this.#endAt;
  }

  /** Throws when aborted. */
  async rest(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#signal.throwIfAborted();
    this.#sliceEndAt = performance.now() + SLICE_MS;
  }
}
