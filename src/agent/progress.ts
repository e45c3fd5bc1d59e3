import { tail } from "../base/text.ts";
import { textOf, type TextBlock } from "../llm/message.ts";
import type { ToolResult } from "../tools/tool.ts";

/** Nine in a second leave room for the one that is flushed at the end: ten at most. */
const GAP_MS = 112;
/** How much of a long partial text is told: its end. The whole comes with the result. */
const TAIL_CHARS = 1024;
/** What the updates of one call may cost at once, and what they may cost more as time goes by. */
const ALLOWANCE_CHARS = 8 * 1024;
const GAIN_CHARS_PER_MS = 0.5;

/**
 * Thins what a running tool tells of itself: at most ten updates a second, long texts by their end, and slower
 * once they have cost much. The newest one is never lost: it goes out a little later, or right before the end.
 */
export class Progress {
  #pending: ToolResult | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastAt = Number.NEGATIVE_INFINITY;
  #allowance = ALLOWANCE_CHARS;
  #ended = false;

  /** `fixedCost`: characters that each update costs beside its text. */
  constructor(
    private readonly fixedCost: () => number,
    private readonly tell: (partial: ToolResult) => void,
    private readonly now: () => number = performance.now.bind(performance),
  ) {}

  update(partial: ToolResult): void {
    if (this.#ended) return;
    this.#pending = partial;
    if (this.#timer) return;
    const wait = this.#wait();
    if (wait <= 0) this.#send();
    else this.#timer = setTimeout(() => this.#send(), wait);
  }

  /** Tells what is still untold; later updates are dropped. */
  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#pending) this.#send();
  }

  #wait(): number {
    const since = this.now() - this.#lastAt;
    const earned = this.#allowance + Math.min(since, 1e9) * GAIN_CHARS_PER_MS;
    return Math.max(GAP_MS - since, earned < 0 ? -earned / GAIN_CHARS_PER_MS : 0);
  }

  #send(): void {
    const partial = this.#pending;
    this.#pending = undefined;
    this.#timer = undefined;
    if (!partial) return;
    const now = this.now();
    this.#allowance = Math.min(ALLOWANCE_CHARS, this.#allowance + Math.min(now - this.#lastAt, 1e9) * GAIN_CHARS_PER_MS);
    this.#lastAt = now;
    const told = short(partial);
    this.#allowance -= this.fixedCost() + textOf(told.content).length;
    this.tell(told);
  }
}

/** A partial result with the end of its text only, and without images: those come once, with the result. */
function short(partial: ToolResult): ToolResult {
  const text = textOf(partial.content);
  if (text.length <= TAIL_CHARS && partial.content.every((block) => block.type === "text")) return partial;
  const content: TextBlock[] = [{ type: "text", text: lastLines(text) }];
  return partial.details === undefined ? { content } : { content, details: partial.details };
}

/** From the beginning of a line, where one is whole. */
function lastLines(text: string): string {
  const cut = tail(text, TAIL_CHARS);
  const line = cut === text ? -1 : cut.indexOf("\n");
  return line >= 0 && line < cut.length - 1 ? cut.slice(line + 1) : cut;
}
