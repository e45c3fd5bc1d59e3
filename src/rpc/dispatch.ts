import type { z as Z } from "zod";
import type { App } from "../app.ts";
import { Lane } from "../base/lane.ts";
import { logBug } from "../base/log.ts";
import type { RecordWriter } from "../base/record-writer.ts";
import { Refusal } from "../base/refusal.ts";
import type { Zod } from "../base/zod.ts";
import { Answer, type Command, type Request } from "./command.ts";
import { commands } from "./commands.ts";
import { echoed, failureText, type FailureCode, type Head, type IdText, readLine, successText } from "./frames.ts";

/** Bytes that may wait unwritten before commands are held (protocol.md, section 2, Pressure). */
const HOLD_ABOVE = 8 * 1024 * 1024;

/** A request that has been read and not answered yet. */
class Pending {
  answered = false;
  constructor(
    readonly id: IdText,
    readonly type: string,
    readonly command: Command,
    readonly params: unknown,
    readonly idValue: string | number | undefined,
  ) {}
}

/**
 * From a line to exactly one response: head, table, schema, lane (protocol.md, section 3). Knows no
 * command by name; what one needs is said where it is declared.
 */
export class Dispatcher {
  #session = new Lane();
  #urgentInFlight = new Set<Promise<unknown>>();
  #pending = new Set<Pending>();
  /** What waits until the reader of stdout has caught up, in the order in which it came. */
  #held: (() => void)[] = [];
  /** Lines that wait until fields can be checked, while that is being loaded. */
  #unchecked: Head[] | undefined;
  #zod: Zod | undefined;
  #releasing = false;
  #closed = false;
  #changed: (() => void)[] = [];

  constructor(
    private readonly app: App,
    private readonly writer: RecordWriter,
    private readonly maxLineBytes: number,
  ) {}

  /** Requests that are held because the reader of stdout is far behind. */
  get held(): number {
    return this.#held.length;
  }

  /** True while a request that holds the end of input is unanswered. */
  get busy(): boolean {
    if (this.isBeginning) return true;
    for (const pending of this.#pending) if (!pending.command.background) return true;
    return false;
  }

  /** True while a command that begins something waits for its turn. */
  get isBeginning(): boolean {
    return this.#held.length > 0 || !this.#session.idle || (this.#unchecked?.length ?? 0) > 0;
  }

  /** Resolves at the next answer. */
  nextAnswer(): Promise<void> {
    return new Promise((resolve) => this.#changed.push(resolve));
  }

  tooLong(): void {
    this.#fail(undefined, "parse", "parse", `Failed to parse command: the line is longer than the limit of ${this.maxLineBytes} bytes (--max-line-bytes)`);
  }

  /** Judges one line and begins what it asks for; `bytes` are not kept. */
  line(bytes: Uint8Array): void {
    this.#read(readLine(bytes));
  }

  /** Loads what checks fields; the first command that has some would wait for it. */
  async warm(): Promise<void> {
    if (this.#zod) return;
    this.#unchecked ??= [];
    const { z } = await import("zod");
    this.#zod = z;
    const waiting = this.#unchecked ?? [];
    this.#unchecked = undefined;
    for (const head of waiting) this.#judge(head);
  }

  /** Lines keep their order: behind one that waits for its check, all others wait. */
  #read(head: Head): void {
    if (this.#unchecked && (this.#unchecked.length > 0 || needsCheck(head))) this.#unchecked.push(head);
    else if (!this.#zod && needsCheck(head)) {
      this.#unchecked = [head];
      void this.warm();
    } else this.#judge(head);
  }

  #judge(head: Head): void {
    if ("fault" in head) {
      this.#fail(head.id, "parse", "parse", `Failed to parse command: ${head.fault}`);
      return;
    }
    const { type, id } = head;
    const found = commandOf(type);
    if (!found) {
      const shown = echoed(type);
      this.#fail(id, shown, "unknown_command", `Unknown command: ${shown}`);
      return;
    }
    if (head.badId) {
      this.#fail(undefined, type, "invalid", "Invalid command: id: must be a string");
      return;
    }
    const fields = readFields(found, head.record, this.#zod);
    if ("fault" in fields) {
      this.#fail(id, type, "invalid", `Invalid command: ${fields.fault}`);
      return;
    }
    const idValue = head.record.id as string | number | null | undefined;
    this.#accept(new Pending(id, type, found, fields.params, idValue ?? undefined));
  }

  /** Answers everything that is still open with `cancelled`, and takes nothing more. */
  cancelAll(why: string): void {
    this.#closed = true;
    this.#held = [];
    for (const pending of [...this.#pending]) this.#refuse(pending, new Refusal("cancelled", why));
  }

  #accept(pending: Pending): void {
    if (this.#closed) return;
    this.#pending.add(pending);
    if (pending.command.urgent) this.#begin(pending);
    else this.#whenHeard(() => this.#begin(pending));
  }

  /** At once, or when less waits unwritten. */
  #whenHeard(act: () => void): void {
    if (this.#held.length === 0 && this.writer.pendingBytes <= HOLD_ABOVE) {
      act();
      return;
    }
    this.#held.push(act);
    void this.#release();
  }

  async #release(): Promise<void> {
    if (this.#releasing) return;
    this.#releasing = true;
    while (this.#held.length > 0) {
      await this.writer.whenBelow(HOLD_ABOVE);
      this.#held.shift()?.();
    }
    this.#releasing = false;
    this.#tell();
  }

  #begin(pending: Pending): void {
    const { when } = pending.command;
    if (when === "always") {
      // What comes after it in the session lane begins when it is done: `abort` then `prompt` in one write.
      const done = this.#run(pending, this.#session.idle ? {} : { sessionBefore: this.#session.settled() });
      if (done) this.#follow(done);
      return;
    }
    if (when === "session" || (when === "now" && !this.#session.idle)) {
      const earlier = when === "session" && this.#urgentInFlight.size > 0 ? [...this.#urgentInFlight] : undefined;
      void this.#session.run(() => (earlier ? Promise.all(earlier).then(() => this.#inLane(pending)) : this.#inLane(pending)));
      return;
    }
    void this.#run(pending);
  }

  /** Runs; resolves when the lane is free again. */
  #inLane(pending: Pending): Promise<void> | undefined {
    const { promise: released, resolve } = Promise.withResolvers<void>();
    const done = this.#run(pending, { release: resolve });
    return done && Promise.race([done, released]);
  }

  /** Only commands that take time (an abort) are followed; the others are done before they could matter. */
  #follow(done: Promise<void>): void {
    this.#urgentInFlight.add(done);
    void done.finally(() => this.#urgentInFlight.delete(done));
  }

  /** Runs and answers; undefined when that is done already, else a promise that never rejects. */
  #run(pending: Pending, lane: Partial<Request> = {}): Promise<void> | undefined {
    if (pending.answered) return undefined;
    const request: Request = { release: () => {}, ...lane };
    if (pending.idValue !== undefined) request.id = pending.idValue;
    try {
      const result = pending.command.run(this.app, pending.params, request);
      if (result instanceof Promise) {
        return result.then(
          (data) => this.#answer(pending, data),
          (error) => this.#refuse(pending, error),
        );
      }
      this.#answer(pending, result);
    } catch (error) {
      this.#refuse(pending, error);
    }
    return undefined;
  }

  #answer(pending: Pending, result: unknown): void {
    if (pending.answered) {
      if (result instanceof Answer) result.after();
      return;
    }
    const data = result instanceof Answer ? result.data : result;
    let text: string | readonly Uint8Array[];
    try {
      text = successText(pending.id, pending.type, data);
    } catch (error) {
      this.#refuse(pending, error);
      return;
    }
    this.#close(pending, text);
    if (result instanceof Answer) result.after();
  }

  #refuse(pending: Pending, error: unknown): void {
    if (pending.answered) return;
    let code: FailureCode = "internal";
    if (error instanceof Refusal) code = error.code;
    else logBug(`the command ${pending.type}`, error);
    const words = error instanceof Error ? error.message : String(error);
    this.#close(pending, failureText(pending.id, pending.type, code, words || "unknown error"));
  }

  #close(pending: Pending, text: string | readonly Uint8Array[]): void {
    pending.answered = true;
    this.#pending.delete(pending);
    this.writer.write(text);
    this.#tell();
  }

  #fail(id: IdText, command: string, code: FailureCode, error: string): void {
    this.#whenHeard(() => {
      if (!this.#closed) this.writer.write(failureText(id, command, code, error));
    });
  }

  #tell(): void {
    for (const resolve of this.#changed.splice(0)) resolve();
  }
}

function commandOf(type: string): Command | undefined {
  return Object.hasOwn(commands, type) ? commands[type] : undefined;
}

function needsCheck(head: Head): boolean {
  return "type" in head && commandOf(head.type)?.params !== undefined;
}

const schemas = new WeakMap<Command, Z.ZodType>();

/** Checks the fields of a request against the command's schema; null is the same as leaving a field out. */
function readFields(found: Command, record: Record<string, unknown>, z: Zod | undefined): { params: unknown } | { fault: string } {
  if (!found.params) return { params: {} };
  if (!z) throw new Error("fields cannot be checked yet");
  let schema = schemas.get(found);
  if (!schema) {
    schema = found.params(z);
    schemas.set(found, schema);
  }
  const fields = Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));
  const parsed = schema.safeParse(fields);
  if (parsed.success) return { params: parsed.data };
  return { fault: faultOf(parsed.error.issues[0]!, fields) };
}

/** `spec.argv: must be an array`: the field's path and what is wrong with it. */
function faultOf(issue: Z.core.$ZodIssue, fields: unknown): string {
  let path = "";
  let value: unknown = fields;
  for (const key of issue.path) {
    path += typeof key === "number" ? `[${key}]` : path ? `.${String(key)}` : String(key);
    value = value !== null && typeof value === "object" ? (value as Record<PropertyKey, unknown>)[key] : undefined;
  }
  const why = issue.code === "invalid_type" && value === undefined ? `is required (${issue.expected})` : issue.message;
  return `${path || "fields"}: ${why}`;
}
