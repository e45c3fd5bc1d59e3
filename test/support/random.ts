/** Random numbers that a seed decides (mulberry32), for tests that try many inputs and can be repeated. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** At least 0, less than 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  /** An integer, at least 0, less than `below`. */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }

  chance(part: number): boolean {
    return this.next() < part;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }

  /** Each with the chance `part`. */
  some<T>(from: readonly T[], part: number): T[] {
    return from.filter(() => this.chance(part));
  }
}
