/** A regular expression as far as it can be matched in linear time: no look-around, no back-references. */
export type Node =
  /** One character; `test` is a regular expression for it alone, `char` is there when it is a plain one. */
  | { kind: "one"; test: string; char?: string }
  | { kind: "assert"; what: "start" | "end" | "word" | "notWord" }
  | { kind: "all"; nodes: Node[] }
  | { kind: "any"; nodes: Node[] }
  | { kind: "repeat"; node: Node; min: number; max: number };

/** What cannot be matched so, in words for people. */
export class Unsupported extends Error {
  override readonly name = "Unsupported";
}

/** Parses what `new RegExp(source, isUnicode ? "u" : "")` has accepted. */
export function parseRegex(source: string, isUnicode: boolean): Node {
  return new Parser(source, isUnicode).parse();
}

class Parser {
  #at = 0;

  constructor(
    readonly source: string,
    readonly isUnicode: boolean,
  ) {}

  parse(): Node {
    const node = this.#any();
    if (this.#at < this.source.length) throw new Unsupported("an unmatched )");
    return node;
  }

  #any(): Node {
    const nodes = [this.#all()];
    while (this.source[this.#at] === "|") {
      this.#at++;
      nodes.push(this.#all());
    }
    return nodes.length === 1 ? nodes[0]! : { kind: "any", nodes };
  }

  #all(): Node {
    const nodes: Node[] = [];
    while (this.#at < this.source.length && this.source[this.#at] !== "|" && this.source[this.#at] !== ")") nodes.push(this.#repeated());
    return nodes.length === 1 ? nodes[0]! : { kind: "all", nodes };
  }

  #repeated(): Node {
    const node = this.#atom();
    const match = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/.exec(this.source.slice(this.#at, this.#at + 40));
    if (!match) return node;
    this.#at += match[0].length;
    const sign = match[0][0];
    if (sign === "*") return { kind: "repeat", node, min: 0, max: Infinity };
    if (sign === "+") return { kind: "repeat", node, min: 1, max: Infinity };
    if (sign === "?") return { kind: "repeat", node, min: 0, max: 1 };
    const min = Number(match[1]);
    return { kind: "repeat", node, min, max: match[2] === "" ? min : match[3] === "" ? Infinity : Number(match[3]) };
  }

  #atom(): Node {
    const char = this.#char();
    if (char === "(") return this.#group();
    if (char === "[") return this.#set();
    if (char === "\\") return this.#escape();
    this.#at += char.length;
    if (char === "^") return { kind: "assert", what: "start" };
    if (char === "$") return { kind: "assert", what: "end" };
    if (char === ".") return { kind: "one", test: "." };
    return plain(char);
  }

  #group(): Node {
    const head = /^\((?:\?(?:<[^=!][^>]*>|([^<>]*?)[:=!]|<[=!]))?/.exec(this.source.slice(this.#at))![0];
    if (/[=!]$/.test(head)) throw new Unsupported("look-around");
    if (head.length > 3 && head.endsWith(":")) throw new Unsupported("flags inside the pattern");
    this.#at += head.length;
    const node = this.#any();
    this.#at++;
    return node;
  }

  #set(): Node {
    const start = this.#at++;
    while (this.#at < this.source.length && this.source[this.#at] !== "]") this.#at += this.source[this.#at] === "\\" ? 2 : 1;
    return { kind: "one", test: this.source.slice(start, ++this.#at) };
  }

  #escape(): Node {
    const rest = this.source.slice(this.#at);
    const boundary = /^\\[bB]/.exec(rest);
    if (boundary) {
      this.#at += 2;
      return { kind: "assert", what: boundary[0] === "\\b" ? "word" : "notWord" };
    }
    if (/^\\(?:[1-9]|k<)/.test(rest)) throw new Unsupported("back-references");
    const test = (this.isUnicode ? /^\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|x..|c.|.)/su : /^\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[a-zA-Z]|0[0-7]{0,2}|[^])/).exec(rest)?.[0];
    if (test === undefined) throw new Unsupported("a \\ at the end");
    this.#at += test.length;
    return /^\\[^a-zA-Z0-9]$/.test(test) ? plain(test.slice(1)) : { kind: "one", test };
  }

  #char(): string {
    return this.isUnicode ? String.fromCodePoint(this.source.codePointAt(this.#at)!) : this.source[this.#at]!;
  }
}

function plain(char: string): Node {
  return { kind: "one", char, test: char.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&") };
}
