import { LineReader } from "./line-reader.ts";
import { leftovers, memoryOf } from "./leftovers.ts";
import { RecordRules } from "./record-rules.ts";
import { type FileContent, Sandbox } from "./sandbox.ts";
import { Schemas } from "./schemas.ts";
import { until } from "./until.ts";
import { shorten, textOf, type WireRecord } from "./wire.ts";
import { ensureBuilt } from "../../scripts/build.ts";

/** A step of the built-in model's script; see `rpi --help`. */
export type FauxStep =
  | { text: string }
  | { thinking: string }
  | { toolCall: { name: string; arguments: object; id?: string } }
  | { delayMs: number }
  | { usage: object }
  | { stopReason: "length" }
  | { error: { status?: number; message: string; retryAfterMs?: number } };

export interface StartOptions {
  /** After `rpi rpc` and the model; default none. */
  args?: string[];
  /** The words in place of `rpc`, for other ways to start; default `["rpc"]`. */
  mode?: string[];
  /** `null` names no model on the command line; default the built-in one. */
  model?: string | null;
  /** What the built-in model plays, one inner list a model turn. */
  turns?: FauxStep[][];
  /** Overlay; `undefined` removes. */
  env?: Record<string, string | undefined>;
  /** Files of the workspace and of the agent folder by name. */
  files?: Record<string, FileContent>;
  agentFiles?: Record<string, FileContent>;
  /** One that another rpi has used, to find what that left; it is not removed. */
  sandbox?: Sandbox;
  cwd?: string;
  /** How long a wait may take; default 10 s. */
  patienceMs?: number;
  /** Whether each record is checked against `rpi schema`; default true. Records by the ten thousand or nested very deep are cheaper unchecked. */
  checksShapes?: boolean;
  /** Told of each record as it comes, and of each that is sent. */
  onRecord?: (record: WireRecord) => void;
  onSent?: (record: object) => void;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | number | null;
}

export interface Run {
  id: string;
  /** Everything on stdout from the prompt to `agent_settled`. */
  records: WireRecord[];
  settled: WireRecord;
  /** The last assistant message and its text. */
  message: any;
  text: string;
}

let built: Promise<string> | undefined;
/** The compiled binary, built when it is missing or stale. */
export const binary = (): Promise<string> => (built ??= ensureBuilt());

/** Starts rpi in a sandbox. `await using rpi = await start()` ends it and removes the sandbox. */
export async function start(options: StartOptions = {}): Promise<Rpi> {
  const file = await binary();
  const sandbox = options.sandbox ?? new Sandbox();
  for (const [name, content] of Object.entries(options.files ?? {})) sandbox.write(name, content);
  for (const [name, content] of Object.entries(options.agentFiles ?? {})) sandbox.writeAgent(name, content);
  const model = options.model === undefined ? "faux/faux-1" : options.model;
  const argv = [
    file,
    ...(options.mode ?? ["rpc"]),
    ...(model === null ? [] : ["--model", model]),
    ...(options.turns ? ["--faux-script", sandbox.writeScript(options.turns)] : []),
    ...(options.args ?? []),
  ];
  const schemas = options.checksShapes === false ? undefined : await Schemas.of(file);
  return new Rpi(argv, sandbox, options, new RecordRules(schemas));
}

/** One running rpi: what goes in, what comes out, and waiting for it. */
export class Rpi implements AsyncDisposable {
  /** Every record so far, in order. */
  readonly records: WireRecord[] = [];
  /** Everything on stderr so far. */
  stderr = "";
  readonly pid: number;
  readonly sandbox: Sandbox;
  readonly exited: Promise<Exit>;

  #child: Bun.Subprocess<"pipe", "pipe", "pipe">;
  #rules: RecordRules;
  #stdout: LineReader;
  #ownsSandbox: boolean;
  #patienceMs: number;
  #options: StartOptions;
  #end: Exit | undefined;
  #sent = 0;
  #wake = Promise.withResolvers<void>();

  constructor(argv: string[], sandbox: Sandbox, options: StartOptions, rules: RecordRules) {
    this.#rules = rules;
    this.sandbox = sandbox;
    this.#options = options;
    this.#ownsSandbox = options.sandbox === undefined;
    this.#patienceMs = options.patienceMs ?? 10_000;
    this.#child = Bun.spawn(argv, { cwd: options.cwd ?? sandbox.cwd, env: sandbox.env(options.env), stdin: "pipe", stdout: "pipe", stderr: "pipe" });
    this.pid = this.#child.pid;
    this.#stdout = new LineReader(this.#child.stdout, (line) => this.#take(line));
    const stderr = this.#readStderr();
    this.exited = this.#watch(stderr);
  }

  #take(line: Uint8Array): void {
    const record = this.#rules.check(line);
    if (!record) return;
    this.records.push(record);
    this.#options.onRecord?.(record);
    this.#changed();
  }

  async #readStderr(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of this.#child.stderr) this.stderr += decoder.decode(chunk, { stream: true });
  }

  /** The end is told when everything that was written before it has been read. */
  async #watch(stderr: Promise<void>): Promise<Exit> {
    await this.#child.exited;
    await Promise.all([this.#stdout.ended, stderr]);
    const end = { code: this.#child.exitCode, signal: this.#child.signalCode };
    if (this.#stdout.rest > 0 && end.signal !== "SIGKILL") this.#rules.faults.push(`stdout ended ${this.#stdout.rest} bytes into a record`);
    this.#end = end;
    this.#changed();
    return end;
  }

  #changed(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers<void>();
  }

  // Writing.

  /** Writes bytes as they are. */
  sendRaw(data: string | Uint8Array): void {
    this.#child.stdin.write(data);
    this.#child.stdin.flush();
  }

  /** Writes records, all in one write. */
  send(...records: object[]): void {
    for (const record of records) this.#options.onSent?.(record);
    this.sendRaw(records.map((record) => `${JSON.stringify(record)}\n`).join(""));
  }

  nextId(): string {
    this.#sent += 1;
    return `t${this.#sent}`;
  }

  /** Sends a request and gives its response, success or not. */
  async ask(type: string, fields: object = {}): Promise<WireRecord> {
    const id = this.nextId();
    const from = this.mark();
    this.send({ id, type, ...fields });
    return await this.response(id, from);
  }

  response(id: string | number, from = 0): Promise<WireRecord> {
    return this.event((record) => record.type === "response" && record["id"] === id, { from, what: `the response to ${JSON.stringify(id)}` });
  }

  /** Sends a request that must succeed; gives its data. */
  async ok(type: string, fields: object = {}): Promise<any> {
    const response = await this.ask(type, fields);
    if (response["success"] !== true) throw new Error(`${type} should have succeeded: ${JSON.stringify(response)}`);
    return response["data"];
  }

  /** Sends a request that must fail; gives its code and its words. */
  async refused(type: string, fields: object = {}): Promise<{ code: string; error: string }> {
    const response = await this.ask(type, fields);
    if (response["success"] !== false) throw new Error(`${type} should have been refused: ${shorten(JSON.stringify(response))}`);
    return { code: response["code"], error: response["error"] };
  }

  /** Prompts, and waits until the run has settled. */
  async run(message: string, fields: object = {}): Promise<Run> {
    const { id, from } = await this.begin(message, fields);
    const settled = await this.settled(from);
    const records = this.records.slice(from, this.records.indexOf(settled) + 1);
    const last = records.findLast((record) => record.type === "message_end" && record["message"].role === "assistant")?.["message"];
    return { id, records, settled, message: last, text: last ? textOf(last) : "" };
  }

  /** Prompts, and waits only until the prompt is accepted. Its events follow from `from` on. */
  async begin(message: string, fields: object = {}): Promise<{ id: string; from: number }> {
    const from = this.mark();
    const id = this.nextId();
    this.send({ id, type: "prompt", message, ...fields });
    const response = await this.response(id, from);
    if (response["data"]?.disposition !== "started") throw new Error(`the prompt should have started a run: ${JSON.stringify(response)}`);
    return { id, from };
  }

  // Reading.

  /** Where the records stand now, to wait or look from there later. */
  mark(): number {
    return this.records.length;
  }

  /** The first record of this type, or for which this holds, from `from` on. */
  async event(wanted: string | ((record: WireRecord) => unknown), { from = 0, what, ms = this.#patienceMs }: { from?: number; what?: string; ms?: number } = {}): Promise<WireRecord> {
    const holds = typeof wanted === "string" ? (record: WireRecord) => record.type === wanted : wanted;
    const name = what ?? (typeof wanted === "string" ? wanted : "a record that fits");
    const deadline = performance.now() + ms;
    for (let next = from; ; ) {
      for (; next < this.records.length; next += 1) if (holds(this.records[next]!)) return this.records[next]!;
      if (this.#end) throw this.#failure(`${name} did not come before rpi ended (${JSON.stringify(this.#end)})`);
      const left = deadline - performance.now();
      if (left <= 0 || !(await withinMs(this.#wake.promise, left))) throw this.#failure(`${name} did not come within ${ms} ms`);
    }
  }

  events(type: string, from = 0): WireRecord[] {
    return this.records.slice(from).filter((record) => record.type === type);
  }

  settled(from = 0): Promise<WireRecord> {
    return this.event("agent_settled", { from });
  }

  /** Stops taking from stdout, and takes again. */
  pauseReading(): void {
    this.#stdout.pause();
  }
  resumeReading(): void {
    this.#stdout.resume();
  }
  /** Closes our end of its stdout. */
  closeStdout(): Promise<void> {
    return this.#stdout.close();
  }

  // Ending and looking.

  /** End of its input. */
  closeStdin(): void {
    this.#child.stdin.end();
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async exit(ms = this.#patienceMs): Promise<Exit> {
    if (!(await withinMs(this.exited, ms))) throw this.#failure(`rpi did not exit within ${ms} ms`);
    return await this.exited;
  }

  /** End of its input, and its exit. */
  async finish(): Promise<Exit> {
    this.closeStdin();
    return await this.exit();
  }

  memory(): { rssBytes: number; peakBytes: number } {
    return memoryOf(this.pid);
  }

  /** What was started through this rpi and still runs. */
  leftovers(): { pid: number; command: string }[] {
    return leftovers(this.sandbox.dir).filter(({ pid }) => pid !== this.pid);
  }

  /** Waits until nothing that was started through this rpi runs any more. */
  async gone(): Promise<void> {
    await until(() => this.leftovers().length === 0, () => `the end of ${JSON.stringify(this.leftovers())}`);
  }

  #failure(what: string): Error {
    const last = this.records.slice(-8).map((record) => `  ${shorten(JSON.stringify(record), 200)}`);
    return new Error([what, "last records:", ...last, ...this.#rules.faults, "stderr:", shorten(this.stderr, 2000) || "  (nothing)"].join("\n"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.exited;
    for (const { pid } of leftovers(this.sandbox.dir)) kill(pid);
    await this.#stdout.close();
    if (this.#ownsSandbox) this.sandbox[Symbol.dispose]();
    const { faults } = this.#rules;
    if (faults.length > 0) throw new Error(`rules of the wire were broken:\n${faults.join("\n")}`);
  }
}

/** Whether a promise settled in time. */
async function withinMs(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, ms, false);
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself meanwhile.
  }
}
