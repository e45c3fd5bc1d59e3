import type { MessageBuilder } from "./builder.ts";

const OPEN = "<think>";
const CLOSE = "</think>";

/** Tells thinking from text where a server leaves `<think>…</think>` at the beginning of the text. */
export class ThinkTags {
  readonly #builder: MessageBuilder;
  /** start: nothing but blanks and a part of the tag has come; inside: between the tags; text: the rest is text. */
  #state: "start" | "inside" | "after" | "text" = "start";
  #held = "";

  constructor(builder: MessageBuilder) {
    this.#builder = builder;
  }

  feed(text: string): void {
    if (this.#state === "text") this.#builder.text(text);
    else this.#scan(this.#held + text);
  }

  /** No tags are to be looked for: the server tells thinking in its own field. */
  off(): void {
    if (this.#state === "text") return;
    this.end();
    this.#state = "text";
  }

  /** Nothing more comes: what was held back is told. */
  end(): void {
    const held = this.#held;
    this.#held = "";
    if (this.#state === "inside") this.#builder.thinking(held);
    else if (this.#state === "start") this.#builder.text(held);
  }

  #scan(text: string): void {
    this.#held = "";
    if (this.#state === "start") {
      const begun = text.trimStart();
      if (begun.length < OPEN.length && OPEN.startsWith(begun)) this.#held = text;
      else if (begun.startsWith(OPEN)) {
        this.#state = "inside";
        this.#scan(begun.slice(OPEN.length));
      } else this.#plain(text);
    } else if (this.#state === "inside") {
      const close = text.indexOf(CLOSE);
      if (close >= 0) {
        this.#builder.thinking(text.slice(0, close));
        this.#builder.closeOpen();
        this.#state = "after";
        this.#scan(text.slice(close + CLOSE.length));
      } else {
        const kept = text.length - partOfTag(text);
        this.#builder.thinking(text.slice(0, kept));
        this.#held = text.slice(kept);
      }
    } else {
      // The blank lines behind the tag are not the answer's.
      const begun = text.trimStart();
      if (begun !== "") this.#plain(begun);
    }
  }

  #plain(text: string): void {
    this.#state = "text";
    this.#builder.text(text);
  }
}

/** How many of the last characters may be the beginning of the closing tag. */
function partOfTag(text: string): number {
  for (let length = Math.min(CLOSE.length - 1, text.length); length > 0; length -= 1) {
    if (text.endsWith(CLOSE.slice(0, length))) return length;
  }
  return 0;
}
