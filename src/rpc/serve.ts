import { App, type AppEvent, type AppOptions } from "../app.ts";
import { workingFolder } from "../app/working-folder.ts";
import { LineSplitter } from "../base/line-splitter.ts";
import { flushLog, log } from "../base/log.ts";
import { RecordWriter } from "../base/record-writer.ts";
import { Refusal } from "../base/refusal.ts";
import { wordsOf } from "../base/text.ts";
import { durationMs, type Flags } from "../settings/flags.ts";
import { Dispatcher } from "./dispatch.ts";
import { Ending } from "./ending.ts";
import { failureText } from "./frames.ts";
import { Outbound } from "./outbound.ts";

const DEFAULT_MAX_LINE_BYTES = 64 * 1024 * 1024;
const WARM_AFTER_MS = 20;
/** What is read before the session is open. */
const MAX_EARLY_BYTES = 64 * 1024 * 1024;

export interface ServeOptions extends Pick<AppOptions, "flags" | "env"> {
  stdin: ReadableStream<Uint8Array>;
  stdout: Bun.FileSink;
}

/**
 * RPC mode from the first record to the exit code, which `run` resolves with (protocol.md, sections 1, 2 and 11). `signal`
 * may be called at any time.
 */
export class Server {
  readonly #writer: RecordWriter;
  readonly #outbound: Outbound;
  readonly #ending: Ending;

  constructor(private readonly options: ServeOptions) {
    this.#writer = new RecordWriter(options.stdout, () => this.#ending.readerGone());
    this.#outbound = new Outbound(this.#writer);
    this.#ending = new Ending(this.#writer, endFlags(options.flags));
  }

  /** Begins an orderly shutdown with this exit code, or ends at once when it is the second signal. */
  signal(exitCode: number): void {
    this.#ending.signal(exitCode);
  }

  async run(): Promise<number> {
    const { flags, env } = this.options;
    const maxLineBytes = Number(flags["max-line-bytes"] ?? DEFAULT_MAX_LINE_BYTES);
    const started = Promise.withResolvers<Dispatcher>();
    void this.#read(started.promise, maxLineBytes);
    let app: App;
    try {
      const cwd = workingFolder(flags.cwd);
      app = await App.start({ flags, env, cwd, emit: (event: AppEvent) => this.#outbound.emit(event), ready: () => this.#outbound.ready(), pressed: () => this.#outbound.pressed() });
    } catch (error) {
      return this.#failStart(error);
    }
    await app.announce();
    const dispatcher = new Dispatcher(app, this.#writer, maxLineBytes);
    app.isExpected = () => dispatcher.isBeginning;
    this.#ending.watch(app, dispatcher);
    started.resolve(dispatcher);
    // Not in the way of the first answer, and there before the first prompt.
    setTimeout(() => void this.#warm(app, dispatcher), WARM_AFTER_MS);
    return this.#ending.exitCode;
  }

  async #warm(app: App, dispatcher: Dispatcher): Promise<void> {
    await dispatcher.warm();
    try {
      if (!this.#ending.begun) await app.warm();
    } catch {
      // The first run needs the same and says what is wrong.
    }
  }

  /** Reads stdin from the first moment; what comes before the session is open waits for it. */
  async #read(started: Promise<Dispatcher>, maxLineBytes: number): Promise<void> {
    let first = true;
    let dispatcher: Dispatcher | undefined;
    const splitter = new LineSplitter(maxLineBytes, (line) => {
      if ("tooLong" in line) dispatcher!.tooLong();
      else dispatcher!.line(first ? withoutMark(line) : line);
      first = false;
    });
    try {
      for await (const chunk of readAhead(this.options.stdin, started)) {
        dispatcher ??= await started;
        if (this.#ending.begun) break;
        splitter.push(chunk);
        for (let room = dispatcher.room(); room && !this.#ending.begun; room = dispatcher.room()) await room;
      }
    } catch (error) {
      // A stdin that is closed or broken is at its end.
      log(`rpi: stdin: ${(error as Error).message}`);
    }
    dispatcher ??= await started;
    if (!this.#ending.begun) splitter.end();
    this.#ending.endOfInput();
  }

  async #failStart(error: unknown): Promise<number> {
    const words = wordsOf(error);
    this.#writer.write(failureText(undefined, "initialize", error instanceof Refusal ? error.code : "unavailable", words));
    log(`rpi: ${words}`);
    await Promise.all([Promise.race([this.#writer.whenWritten(), Bun.sleep(3000)]), flushLog(500)]);
    return 1;
  }
}

/** What the stream gives; until `started` it is read and kept, up to a limit. */
async function* readAhead(stream: ReadableStream<Uint8Array>, started: Promise<unknown>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  const early: Uint8Array[] = [];
  let bytes = 0;
  let next = reader.read();
  const ready = started.then(() => undefined);
  while (bytes < MAX_EARLY_BYTES) {
    const got = await Promise.race([ready, next]);
    if (!got || got.done) break;
    early.push(got.value);
    bytes += got.value.length;
    next = reader.read();
  }
  await ready;
  while (early.length > 0) yield early.shift()!;
  for (let got = await next; !got.done; got = await reader.read()) yield got.value;
}

function endFlags(flags: Flags): { onEof: "drain" | "abort"; drainTimeoutMs?: number } {
  const drainTimeoutMs = flags["drain-timeout"] === undefined ? undefined : durationMs(flags["drain-timeout"]);
  return { onEof: flags["on-eof"] ?? "drain", ...(drainTimeoutMs === undefined ? {} : { drainTimeoutMs }) };
}

/** A byte order mark before the first record is dropped. */
function withoutMark(line: Uint8Array): Uint8Array {
  return line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? line.subarray(3) : line;
}
