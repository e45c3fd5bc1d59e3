export const KEYS = ["ENTER", "TAB", "ESCAPE", "CTRL_C", "CTRL_D", "UP", "DOWN", "LEFT", "RIGHT"] as const;
export type Key = (typeof KEYS)[number];

const PLAIN: Partial<Record<Key, string>> = { ENTER: "\r", TAB: "\t", ESCAPE: "\x1b", CTRL_C: "\x03", CTRL_D: "\x04" };
const ARROWS: Partial<Record<Key, string>> = { UP: "A", DOWN: "B", RIGHT: "C", LEFT: "D" };

/** What a terminal sends for the keys. Arrows have another form while a full-screen program has asked for it. */
export function bytesOfKeys(keys: readonly Key[], isApplicationMode: boolean): string {
  return keys.map((key) => PLAIN[key] ?? (isApplicationMode ? "\x1bO" : "\x1b[") + ARROWS[key]).join("");
}

const ASKED = Buffer.from("\x1b[?1h");
const ENDED = Buffer.from("\x1b[?1l");

/** Watches the output of a program for the switch between the two forms of arrow keys (DECCKM). */
export class KeyMode {
  isApplicationMode = false;
  #carry = Buffer.alloc(0);

  push(bytes: Uint8Array): void {
    const piece = Buffer.concat([this.#carry, bytes]);
    const asked = piece.lastIndexOf(ASKED);
    const ended = piece.lastIndexOf(ENDED);
    if (asked !== ended) this.isApplicationMode = asked > ended;
    // The sequence may be cut between two pieces.
    this.#carry = Buffer.from(piece.subarray(Math.max(0, piece.length - ASKED.length + 1)));
  }
}
