/**
 * Runs tasks one after another in the order in which they came. A task that comes while the lane is
 * empty begins before `run` returns.
 */
export class Lane {
  #waiting: (() => void)[] = [];
  #busy = false;

  /** True when nothing runs or waits. */
  get idle(): boolean {
    return !this.#busy;
  }

  /** Resolves or rejects as the task does; the next task begins either way. */
  run<T>(task: () => T | Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const begin = () => {
        let result: T | Promise<T>;
        try {
          result = task();
        } catch (error) {
          this.#next();
          reject(error);
          return;
        }
        if (!(result instanceof Promise)) {
          this.#next();
          resolve(result);
          return;
        }
        result.then(
          (value) => { this.#next(); resolve(value); },
          (error) => { this.#next(); reject(error); },
        );
      };
      if (this.#busy) this.#waiting.push(begin);
      else {
        this.#busy = true;
        begin();
      }
    });
  }

  /** Resolves when every task that is in the lane now has ended. */
  async settled(): Promise<void> {
    if (this.#busy) await this.run(() => undefined);
  }

  #next(): void {
    const begin = this.#waiting.shift();
    if (begin) begin();
    else this.#busy = false;
  }
}
