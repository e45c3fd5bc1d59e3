import { tail } from "../base/text.ts";
import { LONGEST_TIMER_MS } from "../base/wait.ts";
import type { Supervisor } from "../process/supervisor.ts";
import { PlainText } from "../process/plain-text.ts";
import { MAX_BYTES, MAX_LINES } from "./limits.ts";
import type { LineMatcher } from "./line-matcher.ts";

export type OutputSource = Pick<Supervisor, "describe" | "logs" | "untilOutput">;

/** After a piece of output more may follow at once; so long without any is the end of it. */
const QUIET_MS = 100;

/** Reads on in the output of a process, as plain text, of which the end is kept. */
export class ProcessOutput {
  /** Bytes up to which it has been read. */
  cursor: number;
  /** Bytes that were gone before they could be read. */
  lostBytes = 0;
  isCut = false;
  #text = "";
  readonly #decoder = new TextDecoder();
  readonly #plain = new PlainText();
  /** The last line, as far as it has come; lines before it have been held against the pattern. */
  #line = "";

  constructor(
    readonly source: OutputSource,
    readonly id: string,
    cursor: number,
  ) {
    this.cursor = cursor;
  }

  /** The end of it, no more than a result may hold. */
  get text(): string {
    let text = this.#text;
    for (let bytes = Buffer.byteLength(text); bytes > MAX_BYTES; bytes = Buffer.byteLength(text)) {
      text = tail(text, Math.floor((text.length * MAX_BYTES) / bytes));
      this.isCut = true;
    }
    return text;
  }

  /** Reads what is there; true when a line of it matches. */
  read(matcher?: LineMatcher): boolean {
    let isFound = false;
    for (;;) {
      const logs = this.source.logs(this.id, { cursor: this.cursor });
      this.lostBytes += logs.lostBytes;
      this.cursor = logs.cursor;
      if (logs.chunks.length === 0) return isFound;
      for (const { dataBase64 } of logs.chunks) {
        const text = this.#plain.push(this.#decoder.decode(Buffer.from(dataBase64, "base64"), { stream: true }));
        isFound = (matcher !== undefined && this.#matches(text, matcher)) || isFound;
        this.#keep(text);
      }
    }
  }

  /**
   * Reads until a line matches or, without a matcher, until something came and then nothing for a moment; or
   * until the process has ended, or the time is over. Rejects when the signal aborts. False: it did not come.
   */
  async wait(o: { matcher?: LineMatcher | undefined; waitMs: number; signal: AbortSignal }): Promise<boolean> {
    const endAt = performance.now() + o.waitMs;
    const from = this.cursor;
    for (;;) {
      if (this.read(o.matcher)) return true;
      const { state } = this.source.describe(this.id);
      if (state !== "running" && state !== "stopping") return this.read(o.matcher) || (!o.matcher && this.cursor > from);
      const hasCome = !o.matcher && this.cursor > from;
      const left = Math.min(endAt - performance.now(), hasCome ? QUIET_MS : Infinity);
      if (left <= 0 || !(await this.#more(left, o.signal))) return hasCome;
    }
  }

  /** False when nothing came in time. */
  async #more(ms: number, signal: AbortSignal): Promise<boolean> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), Math.min(ms, LONGEST_TIMER_MS));
    try {
      await this.source.untilOutput(this.id, this.cursor, AbortSignal.any([signal, late.signal]));
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (late.signal.aborted) return false;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #matches(text: string, matcher: LineMatcher): boolean {
    const lines = (this.#line + text).split("\n");
    this.#line = lines.at(-1)!.slice(-MAX_BYTES);
    return lines.some((line) => matcher.find(line) !== -1);
  }

  #keep(text: string): void {
    this.#text += text;
    if (this.#text.length <= MAX_BYTES && this.#text.split("\n").length <= MAX_LINES) return;
    const kept = tail(this.#text, MAX_BYTES).split("\n").slice(-MAX_LINES).join("\n");
    this.isCut ||= kept.length < this.#text.length;
    this.#text = kept;
  }
}
