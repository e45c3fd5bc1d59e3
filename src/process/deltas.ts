const EVERY_MS = 25;
const FULL_LENGTH = 32 * 1024;

/** Hands text on in pieces that are neither late nor tiny: the first at once, later ones gathered for a moment. */
export class Deltas {
  readonly #onText: (delta: string) => void;
  #text = "";
  #lastAt = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(onText: (delta: string) => void) {
    this.#onText = onText;
  }

  add(text: string): void {
    if (text === "") return;
    this.#text += text;
    const waitMs = this.#lastAt + EVERY_MS - performance.now();
    if (waitMs <= 0 || this.#text.length >= FULL_LENGTH) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), waitMs);
  }

  /** Hands on what waits, now. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#text === "") return;
    const text = this.#text;
    this.#text = "";
    this.#lastAt = performance.now();
    this.#onText(text);
  }
}
