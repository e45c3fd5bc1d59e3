/** Control characters that are never shown: C0 and DEL but for tab and newline, and C1. */
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

const enum State {
  Text,
  /** After ESC. */
  Escape,
  /** After CSI, up to its final byte. */
  Csi,
  /** In the text of an OSC, DCS, SOS, PM or APC, up to its terminator. */
  Payload,
}

/**
 * Takes escape sequences and control characters out of a text that comes in pieces; tabs and newlines
 * stay, so CRLF becomes LF. A sequence may be cut anywhere between two pieces and ends, finished or not, at a
 * newline: a broken one cannot swallow what follows.
 */
export class PlainText {
  #state = State.Text;

  /** The plain part of the next piece. `mayHaveControls`: false when it is known to have none. */
  push(piece: string, mayHaveControls = true): string {
    if (!mayHaveControls && this.#state === State.Text) return piece;
    let plain = "";
    let at = 0;
    while (at < piece.length) {
      if (this.#state !== State.Text) {
        at = this.#skip(piece, at);
        continue;
      }
      CONTROL.lastIndex = at;
      const found = CONTROL.test(piece) ? CONTROL.lastIndex - 1 : piece.length;
      plain += piece.slice(at, found);
      if (found < piece.length) this.#state = opens(piece.charCodeAt(found));
      at = found + 1;
    }
    return plain;
  }

  /** Reads on inside of a sequence; gives the place of what comes next. */
  #skip(piece: string, start: number): number {
    for (let at = start; at < piece.length; at += 1) {
      const code = piece.charCodeAt(at);
      if (this.#state === State.Payload) {
        if (code === 0x07 || code === 0x18 || code === 0x1a || code === 0x9c) return this.#leave(at + 1);
        // ESC \ ends it; any other ESC begins a new sequence, and ESC \ alone is one too.
        if (code === 0x1b || code === 0x0a) return this.#leave(at);
      } else if (code < 0x20 || code >= 0x7f) {
        return this.#leave(at);
      } else if (this.#state === State.Csi) {
        if (code >= 0x40) return this.#leave(at + 1);
      } else if (code >= 0x30) {
        this.#state = afterEscape(code);
        return at + 1;
      }
    }
    return piece.length;
  }

  #leave(at: number): number {
    this.#state = State.Text;
    return at;
  }
}

/** The state after a control character. */
function opens(code: number): State {
  if (code === 0x1b) return State.Escape;
  if (code === 0x9b) return State.Csi;
  return code === 0x90 || code === 0x98 || (code >= 0x9d && code <= 0x9f) ? State.Payload : State.Text;
}

/** The state after ESC and a final character. */
function afterEscape(code: number): State {
  switch (String.fromCharCode(code)) {
    case "[":
      return State.Csi;
    case "]":
    case "P":
    case "X":
    case "^":
    case "_":
      return State.Payload;
    default:
      return State.Text;
  }
}
