/** Finds where the first JSON object, list or string of a text that comes in pieces ends. Linear; keeps no text. */
export class JsonEnd {
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  #isComplete = false;

  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** The index behind the value's last character when it ends in this piece, else -1. */
  feed(piece: string): number {
    for (let at = 0; at < piece.length && !this.#isComplete; at += 1) {
      const char = piece.charCodeAt(at);
      if (this.#inString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (char === 0x5c) this.#isEscaped = true;
        else if (char === 0x22) {
          this.#inString = false;
          this.#isComplete = this.#depth === 0;
        }
      } else if (char === 0x22) this.#inString = true;
      else if (char === 0x7b || char === 0x5b) this.#depth += 1;
      else if (char === 0x7d || char === 0x5d) {
        this.#depth -= 1;
        this.#isComplete = this.#depth <= 0;
      }
      if (this.#isComplete) return at + 1;
    }
    return -1;
  }
}
