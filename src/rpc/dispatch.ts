import type { App } from "../app.ts";
import { Lane } from "../base/lane.ts";
import { logBug } from "../base/log.ts";
import type { RecordWriter } from "../base/record-writer.ts";
import { Refusal } from "../base/refusal.ts";
import { wordsOf } from "../base/text.ts";
import type { Zod } from "../base/zod.ts";
import { Answer, type Command, type Request } from "./command.ts";
import { commands } from "./commands.ts";
import { readFields } from "./fields.ts";
import { echoed, failureText, type FailureCode, type Head, type IdText, readLine, successText } from "./frames.ts";
import { Pressure } from "./pressure.ts";

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
  /** Commands under way that later ones of the session lane wait for. */
  #first = new Set<Promise<void>>();
  #pending = new Set<Pending>();
  readonly #pressure: Pressure;
  /** Lines that wait until fields can be checked, while that is being loaded. */
  #unchecked: Head[] | undefined;
  #zod: Zod | undefined;
  #isStopping = false;
  #isClosed = false;
  #changed: (() => void)[] = [];

  constructor(
    private readonly app: App,
    private readonly writer: RecordWriter,
    private readonly maxLineBytes: number,
  ) {
    this.#pressure = new Pressure(writer, () => this.#tell());
  }

  /** Undefined while lines are wanted; else resolves when that may have changed. */
  room(): Promise<void> | undefined {
    if (!this.#pressure.isFull) return undefined;
    return this.#pressure.isHolding ? this.nextChange() : this.#pressure.whenLow();
  }

  /** True while a request that holds the end of input is unanswered. */
  get busy(): boolean {
    if (this.isBeginning) return true;
    for (const pending of this.#pending) if (!pending.command.background) return true;
    return false;
  }

  /** True while a command that begins something waits for its turn. */
  get isBeginning(): boolean {
    return this.#pressure.isHolding || !this.#session.idle || (this.#unchecked?.length ?? 0) > 0;
  }

  /** Resolves when `busy` may have changed: at an answer, and when nothing waits to begin any more. */
  nextChange(): Promise<void> {
    return new Promise((resolve) => this.#changed.push(resolve));
  }

  tooLong(): void {
    this.#fail(undefined, "parse", "parse", `Failed to parse command: the line is longer than the limit of ${this.maxLineBytes} bytes (--max-line-bytes)`);
  }

  /** Judges one line and begins what it asks for; `bytes` are not kept. */
  line(bytes: Uint8Array): void {
    this.#pressure.count(bytes.length);
    try {
      this.#read(readLine(bytes));
    } catch (error) {
      logBug("the reading of a line", error);
      this.#fail(undefined, "parse", "internal", `Failed to parse command: ${wordsOf(error)}`);
    }
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
    this.#tell();
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

  /** From now on nothing begins: what has not begun yet is answered with `cancelled`. */
  stopBeginning(): void {
    this.#isStopping = true;
    this.#pressure.let();
  }

  /** Answers everything that is still open with `cancelled`, and takes nothing more. */
  cancelAll(): void {
    this.#isClosed = true;
    this.#pressure.drop();
    for (const pending of [...this.#pending]) this.#refuse(pending, stopping());
  }

  #accept(pending: Pending): void {
    if (this.#isClosed) return;
    this.#pending.add(pending);
    if (pending.command.urgent) this.#begin(pending);
    else this.#pressure.hold(() => this.#begin(pending));
  }

  #begin(pending: Pending): void {
    const { when } = pending.command;
    if (when === "always") {
      const done = this.#run(pending, this.#session.idle ? {} : { sessionBefore: this.#session.settled() });
      if (done && pending.command.holdsSession) this.#follow(done);
      return;
    }
    if (when === "session" || (when === "now" && !this.#session.idle)) {
      const earlier: Promise<unknown>[] = when === "session" ? [...this.#first] : [];
      void this.#session.run(() => {
        // What came before it in the lane may have had a long answer.
        const heard = this.#pressure.whenLow();
        return heard || earlier.length > 0 ? Promise.all([...earlier, heard]).then(() => this.#inLane(pending)) : this.#inLane(pending);
      }).then(() => this.#tell());
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

  #follow(done: Promise<void>): void {
    this.#first.add(done);
    void done.finally(() => this.#first.delete(done));
  }

  /** Runs and answers; undefined when that is done already, else a promise that never rejects. */
  #run(pending: Pending, lane: Partial<Request> = {}): Promise<void> | undefined {
    if (pending.answered) return undefined;
    if (this.#isStopping) {
      this.#refuse(pending, stopping());
      return undefined;
    }
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
    this.#close(pending, failureText(pending.id, pending.type, code, wordsOf(error) || "unknown error"));
  }

  #close(pending: Pending, text: string | readonly Uint8Array[]): void {
    pending.answered = true;
    this.#pending.delete(pending);
    this.writer.write(text);
    this.#tell();
  }

  #fail(id: IdText, command: string, code: FailureCode, error: string): void {
    this.#pressure.hold(() => {
      if (!this.#isClosed) this.writer.write(failureText(id, command, code, error));
    });
  }

  #tell(): void {
    for (const resolve of this.#changed.splice(0)) resolve();
  }
}

const stopping = () => new Refusal("cancelled", "rpi is shutting down");

function commandOf(type: string): Command | undefined {
  return Object.hasOwn(commands, type) ? commands[type] : undefined;
}

function needsCheck(head: Head): boolean {
  return "type" in head && commandOf(head.type)?.params !== undefined;
}
