import { log } from "../base/log.ts";
import { wordsOf } from "../base/text.ts";
import type { Children } from "../process/children.ts";
import type { BashExecutionMessage } from "../session/message.ts";
import type { Session } from "../session/session.ts";
import type { AgentEvent } from "./events.ts";
import { appendWithOutput } from "./stored-output.ts";

export interface BashCommand {
  command: string;
  /** Keeps the command and its output from the model. */
  excludeFromContext?: boolean | undefined;
  requestId?: string | number | undefined;
}

/** What the `bash` command answers (protocol.md, section 5). */
export interface BashResult {
  output: string;
  /** The same text under its other name. */
  stdout: string;
  exitCode: number | null;
  cancelled: boolean;
  truncated: boolean;
  fullOutputPath?: string;
}

export interface DirectBashHost {
  session(): Session;
  children(): Promise<Children>;
  shellPath(): string | undefined;
  emit(event: AgentEvent): void;
  ready?: (() => Promise<void> | undefined) | undefined;
  now(): number;
  /** True while a message would come between a tool call and its result. */
  mustWait(): boolean;
}

/** The client's own commands: beside the run, several at once. What they gave becomes a message. */
export class DirectBash {
  readonly #running = new Map<AbortController, Promise<unknown>>();
  #waiting: BashExecutionMessage[] = [];

  constructor(private readonly host: DirectBashHost) {}

  get isRunning(): boolean {
    return this.#running.size > 0;
  }

  /** Begins before it returns, so that an abort right after it finds it. */
  run(o: BashCommand): Promise<BashResult> {
    const abort = new AbortController();
    const done = this.#run(o, abort.signal).finally(() => this.#running.delete(abort));
    this.#running.set(abort, done);
    return done;
  }

  /** Stops every command that runs now; resolves when they have ended. */
  async abort(): Promise<void> {
    const ends = [...this.#running.values()];
    for (const abort of this.#running.keys()) abort.abort();
    await Promise.allSettled(ends);
  }

  /** Resolves when no command runs. */
  async whenIdle(): Promise<void> {
    while (this.#running.size) await Promise.allSettled(this.#running.values());
  }

  /** Puts the messages that waited for the end of a turn into the transcript. */
  flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const message of waiting) this.#store(message);
  }

  async #run({ command, excludeFromContext, requestId }: BashCommand, signal: AbortSignal): Promise<BashResult> {
    const { host } = this;
    const [{ runShell }, children] = await Promise.all([import("../process/shell.ts"), host.children()]);
    const { output, exitCode, cancelled, truncated, fullOutputPath } = await runShell(children, {
      command,
      cwd: host.session().cwd,
      signal,
      onText: (delta) => host.emit({ type: "bash_execution_update", ...(requestId !== undefined && { id: requestId }), delta }),
      ...(host.shellPath() !== undefined && { shellPath: host.shellPath() }),
      ...(host.ready && { ready: host.ready }),
    });
    const path = fullOutputPath === undefined ? {} : { fullOutputPath };
    this.#keep({
      role: "bashExecution", command, output, ...(exitCode !== null && { exitCode }), cancelled, truncated, ...path,
      ...(excludeFromContext && { excludeFromContext }), timestamp: host.now(),
    });
    return { output, stdout: output, exitCode, cancelled, truncated, ...path };
  }

  #keep(message: BashExecutionMessage): void {
    if (this.host.mustWait()) this.#waiting.push(message);
    else this.#store(message);
  }

  #store(message: BashExecutionMessage): void {
    try {
      appendWithOutput(this.host.session(), message);
    } catch (error) {
      // The command has run and is answered; only its trace in the talk is missing.
      const words = `The result of a bash command could not be stored: ${wordsOf(error)}`;
      log(`rpi: ${words}`);
      this.host.emit({ type: "notice", level: "warning", code: "not_stored", message: words });
    }
  }
}
