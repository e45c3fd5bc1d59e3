import type { AppEvent } from "../app.ts";
import type { RecordWriter, Waiting } from "../base/record-writer.ts";
import type { Usage } from "../llm/message.ts";
import type { StreamEvent } from "../llm/model.ts";

/** Unwritten bytes above which model streams and children's output are not read (protocol.md, section 2, Pressure). */
const PAUSE_ABOVE = 512 * 1024;

type Delta = Extract<StreamEvent, { delta: string }>;

/** A delta that takes in those that follow it while it waits to be written. */
class DeltaRecord implements Waiting {
  size: number;
  #delta: string;

  constructor(
    private readonly event: Delta,
    private usage: string,
  ) {
    this.#delta = event.delta;
    this.size = event.delta.length + usage.length + 120;
  }

  get key(): string {
    return `${this.event.type} ${this.event.contentIndex}`;
  }

  merge(next: Waiting): boolean {
    if (!(next instanceof DeltaRecord)) return false;
    this.#delta += next.#delta;
    this.usage = next.usage;
    this.size += next.#delta.length;
    return true;
  }

  text(): string {
    const { type, contentIndex } = this.event;
    return `{"type":"message_update","usage":${this.usage},"assistantMessageEvent":{"type":"${type}","contentIndex":${contentIndex},"delta":${JSON.stringify(this.#delta)}}}`;
  }
}

/** Output of a `bash` command, taken together while it waits. */
class BashRecord implements Waiting {
  size: number;
  #delta: string;

  constructor(
    private readonly id: string | number | undefined,
    delta: string,
  ) {
    this.#delta = delta;
    this.size = delta.length + 80;
  }

  get key(): string {
    return `bash ${JSON.stringify(this.id)}`;
  }

  merge(next: Waiting): boolean {
    if (!(next instanceof BashRecord)) return false;
    this.#delta += next.#delta;
    this.size += next.#delta.length;
    return true;
  }

  text(): string {
    return JSON.stringify({ type: "bash_execution_update", ...(this.id === undefined ? {} : { id: this.id }), delta: this.#delta });
  }
}

/** From events to records: knows which may be merged and which may be left out when the reader is behind. */
export class Outbound {
  #usageKey = "";
  #usageText = "";

  constructor(private readonly writer: RecordWriter) {}

  emit(event: AppEvent): void {
    switch (event.type) {
      case "message_update": {
        const { assistantMessageEvent: update } = event;
        if ("delta" in update) this.writer.writeWaiting(new DeltaRecord(update, this.#usage(event.usage)));
        else this.writer.write(JSON.stringify(event));
        return;
      }
      case "bash_execution_update":
        this.writer.writeWaiting(new BashRecord(event.id, event.delta));
        return;
      default:
        this.writer.write(JSON.stringify(event));
    }
  }

  /** Undefined while the reader keeps up, else resolves once it has. */
  ready(): Promise<void> | undefined {
    return this.writer.whenBelow(PAUSE_ABOVE);
  }

  /** True while output that can be had later (a process's ring) should not be sent. */
  pressed(): boolean {
    return this.writer.pendingBytes > PAUSE_ABOVE;
  }

  /** The usage as JSON, made anew only when a number changed: it stands in every delta. */
  #usage(usage: Usage): string {
    const key = `${usage.input} ${usage.output} ${usage.cacheRead} ${usage.cacheWrite} ${usage.reasoning ?? ""} ${usage.totalTokens}`;
    if (key !== this.#usageKey) {
      this.#usageKey = key;
      this.#usageText = JSON.stringify(usage);
    }
    return this.#usageText;
  }
}
