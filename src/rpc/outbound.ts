import type { AppEvent } from "../app.ts";
import type { RecordWriter, Waiting } from "../base/record-writer.ts";
import type { Usage } from "../llm/message.ts";
import type { StreamEvent } from "../llm/model.ts";

/** Unwritten bytes above which model streams and children's output are not read (protocol.md, section 2, Pressure). */
const PAUSE_ABOVE = 512 * 1024;

type Delta = Extract<StreamEvent, { delta: string }>;

/** A piece of a text that takes in the pieces that follow it while it waits to be written. */
abstract class PieceRecord implements Waiting {
  size: number;

  constructor(
    protected piece: string,
    overhead: number,
  ) {
    this.size = piece.length + overhead;
  }

  abstract get key(): string;
  abstract text(): string;

  /** Only asked of records with the same key. */
  merge(next: PieceRecord): boolean {
    this.piece += next.piece;
    this.size += next.piece.length;
    return true;
  }
}

/** A delta of an answer. */
class DeltaRecord extends PieceRecord {
  constructor(
    private readonly event: Delta,
    private usage: string,
  ) {
    super(event.delta, usage.length + 120);
  }

  get key(): string {
    return `${this.event.type} ${this.event.contentIndex}`;
  }

  override merge(next: DeltaRecord): boolean {
    this.usage = next.usage;
    return super.merge(next);
  }

  text(): string {
    const { type, contentIndex } = this.event;
    return `{"type":"message_update","usage":${this.usage},"assistantMessageEvent":{"type":"${type}","contentIndex":${contentIndex},"delta":${JSON.stringify(this.piece)}}}`;
  }
}

/** Output of a `bash` command. */
class BashRecord extends PieceRecord {
  constructor(
    private readonly id: string | number | undefined,
    delta: string,
  ) {
    super(delta, 80);
  }

  get key(): string {
    return `bash ${JSON.stringify(this.id)}`;
  }

  text(): string {
    return JSON.stringify({ type: "bash_execution_update", ...(this.id === undefined ? {} : { id: this.id }), delta: this.piece });
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
