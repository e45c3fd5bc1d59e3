/** Deeper than any arguments, and shallow enough for the stack. */
const MAX_DEPTH = 500;

export interface Lenient {
  /** As far as the text could be read; undefined when nothing could. */
  value: unknown;
  /** Why the text is no JSON value; absent when it is one, raw control characters in strings aside. */
  fault?: string;
}

/** Reads JSON that a model wrote: raw control characters in strings are taken as meant, an unfinished value as far as it goes. */
export function parseLenient(text: string): Lenient {
  try {
    return { value: JSON.parse(text) };
  } catch {
    // Read again by the reader below, which says where and keeps what it can.
  }
  const reader = new Reader(text);
  const value = reader.value(0);
  return reader.fault ? { value, fault: reader.fault } : { value };
}

class Reader {
  fault: string | undefined;
  #at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): unknown {
    if (depth > MAX_DEPTH) return this.#stop("the arguments are nested too deeply");
    this.#blanks();
    const char = this.#text[this.#at];
    if (char === undefined) return this.#cut("before a value");
    if (char === "{") return this.#object(depth);
    if (char === "[") return this.#array(depth);
    if (char === '"') return this.#string();
    return this.#word();
  }

  #object(depth: number): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    this.#at += 1;
    for (;;) {
      this.#blanks();
      const char = this.#text[this.#at];
      if (char === "}") { this.#at += 1; return object; }
      if (char === ",") { this.#at += 1; continue; }
      if (char === undefined) { this.#cut("in an object"); return object; }
      if (char !== '"') { this.#stop(`expected a name at character ${this.#at + 1}`); return object; }
      const name = this.#string();
      if (this.fault) return object;
      this.#blanks();
      if (this.#text[this.#at] !== ":") {
        if (this.#at >= this.#text.length) this.#cut("after a name");
        else this.#stop(`expected ":" at character ${this.#at + 1}`);
        return object;
      }
      this.#at += 1;
      const value = this.value(depth + 1);
      if (value !== undefined) Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
      if (this.fault) return object;
    }
  }

  #array(depth: number): unknown[] {
    const array: unknown[] = [];
    this.#at += 1;
    for (;;) {
      this.#blanks();
      const char = this.#text[this.#at];
      if (char === "]") { this.#at += 1; return array; }
      if (char === ",") { this.#at += 1; continue; }
      if (char === undefined) { this.#cut("in a list"); return array; }
      const value = this.value(depth + 1);
      if (value !== undefined) array.push(value);
      if (this.fault) return array;
    }
  }

  #string(): string {
    const from = this.#at + 1;
    let at = from;
    for (; at < this.#text.length; at += 1) {
      const char = this.#text.charCodeAt(at);
      if (char === 0x22) break;
      if (char === 0x5c) at += 1;
    }
    const isCut = at >= this.#text.length;
    this.#at = Math.min(at + 1, this.#text.length);
    if (isCut) this.#cut("in the middle of a string");
    return unescape(this.#text.slice(from, isCut ? this.#text.length : at));
  }

  #word(): unknown {
    const word = /[^\s,:\]}"]*/y;
    word.lastIndex = this.#at;
    const text = word.exec(this.#text)?.[0] ?? "";
    const isLast = this.#at + text.length >= this.#text.length;
    try {
      const value: unknown = JSON.parse(text);
      this.#at += text.length;
      return value;
    } catch {
      if (isLast && text) return this.#cut("in the middle of a value");
      return this.#stop(`unexpected ${JSON.stringify(this.#text[this.#at] ?? "end")} at character ${this.#at + 1}`);
    }
  }

  #blanks(): void {
    while (this.#at < this.#text.length && this.#text.charCodeAt(this.#at) <= 0x20) this.#at += 1;
  }

  #cut(where: string): undefined {
    return this.#stop(`the arguments end ${where}, after ${this.#text.length} characters`);
  }

  #stop(fault: string): undefined {
    this.fault ??= fault;
  }
}

/** The inside of a JSON string; a wrong or unfinished escape is taken literally or left out. */
function unescape(inside: string): string {
  if (!inside.includes("\\")) return inside;
  return inside.replace(/\\(?:u([0-9a-fA-F]{4})|u[0-9a-fA-F]{0,3}$|([\s\S])|$)/g, (whole, hex: string | undefined, char: string | undefined) => {
    if (hex) return String.fromCharCode(parseInt(hex, 16));
    if (char === undefined) return "";
    return ESCAPES[char] ?? (whole === "\\'" ? "'" : whole);
  });
}

const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", "/": "/", "\\": "\\", '"': '"' };
