import { Refusal } from "../base/refusal.ts";
import type { Child, ChildEnd } from "./child.ts";
import type { Children } from "./children.ts";
import { bytesOfKeys, type Key } from "./keys.ts";
import { OutputEvents, type OutputPiece } from "./output-events.ts";
import { MAX_OUTPUT_BYTES, faultInSize, refuse, type ProcessSpec } from "./process-spec.ts";
import { Pty, type TerminalSize } from "./pty.ts";
import { Pump } from "./pump.ts";
import { ByteRing } from "./ring.ts";

export type ProcessState = "running" | "stopping" | "exited" | "timed_out" | "failed";

export interface ProcessInfo {
  id: string;
  label?: string;
  state: ProcessState;
  pid?: number;
  tty: boolean;
  argv: string[];
  cwd: string;
  startedAtMs: number;
  exitedAtMs?: number;
  /** 128+n after signal n, 124 after its timeout. */
  exitCode?: number;
  /** The name of the signal that it died of. */
  signal?: string;
  /** The output that is kept begins here, counted in bytes from its start. */
  outputStartCursor: number;
  outputCursor: number;
}

export interface ProcessLogs {
  requestedCursor: number;
  startCursor: number;
  cursor: number;
  lost: boolean;
  lostBytes: number;
  chunks: (OutputPiece & { stream: "combined" })[];
  /** It has ended and this was the last of its output. */
  eof: boolean;
}

const MAX_AHEAD_BYTES = 1024 * 1024;
const DEFAULT_SIZE = { cols: 80, rows: 24 };
const TIMEOUT_EXIT_CODE = 124;

export interface SupervisedParts {
  children: Children;
  isPressed: () => boolean;
  onOutput: (piece: OutputPiece) => void;
  now: () => number;
}

/** One supervised process and what is known of it. */
export class Supervised {
  readonly id = Bun.randomUUIDv7();
  /** When it has ended and its last output has been told. */
  readonly ended: Promise<void>;
  readonly #spec: ProcessSpec;
  readonly #ring: ByteRing;
  readonly #events: OutputEvents;
  readonly #pty: Pty | undefined;
  readonly #child: Child;
  readonly #startedAtMs: number;
  #isStopping = false;
  #end: (ChildEnd & { atMs: number }) | undefined;
  #changed: PromiseWithResolvers<void> | undefined;

  /** Starts it; throws a Refusal when that fails. */
  constructor(spec: ProcessSpec, parts: SupervisedParts) {
    const maxBytes = spec.outputBytes ?? MAX_OUTPUT_BYTES;
    this.#spec = spec;
    this.#ring = new ByteRing(maxBytes);
    this.#events = new OutputEvents({ ring: this.#ring, maxBytes, emit: parts.onOutput, isPressed: parts.isPressed });
    const pty = spec.tty ? new Pty(spec.terminalSize ?? DEFAULT_SIZE, (bytes) => this.#take(bytes)) : undefined;
    this.#pty = pty;
    this.#child = parts.children.run({
      argv: spec.argv,
      cwd: spec.cwd,
      owner: "process",
      env: spec.env,
      hasStdin: true,
      startOnTerminal: pty && ((o) => pty.start(o)),
      timeoutMs: spec.timeoutMs,
    });
    this.#startedAtMs = parts.now();
    this.ended = this.#watch(parts.now);
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  describe(): ProcessInfo {
    const { label, tty, argv, cwd } = this.#spec;
    return {
      id: this.id,
      ...(label !== undefined && { label }),
      state: this.#state(),
      pid: this.#child.pid,
      tty: tty ?? false,
      argv: [...argv],
      cwd,
      startedAtMs: this.#startedAtMs,
      ...this.#outcome(),
      outputStartCursor: this.#ring.start,
      outputCursor: this.#ring.end,
    };
  }

  /** Output from a cursor on, at most `limitBytes` of it. A cursor beyond the end is taken for the end. */
  logs(requestedCursor: number, limitBytes: number): ProcessLogs {
    const { start, end } = this.#ring;
    const startCursor = Math.min(Math.max(requestedCursor, start), end);
    const bytes = this.#ring.slice(startCursor, startCursor + limitBytes);
    const cursor = startCursor + bytes.length;
    const lostBytes = Math.max(0, start - requestedCursor);
    const dataBase64 = Buffer.from(bytes.buffer).toString("base64");
    return {
      requestedCursor,
      startCursor,
      cursor,
      lost: lostBytes > 0,
      lostBytes,
      chunks: bytes.length > 0 ? [{ startCursor, cursor, stream: "combined", dataBase64 }] : [],
      eof: this.hasEnded && cursor === end,
    };
  }

  /** Resolves with the next output or the end. */
  untilChanged(): Promise<void> {
    this.#changed ??= Promise.withResolvers();
    return this.#changed.promise;
  }

  write(bytes: Uint8Array, closeStdin: boolean): void {
    const input = this.#openInput();
    if (input.waitingBytes + bytes.length > MAX_AHEAD_BYTES) {
      throw new Refusal("busy", "more than 1 MiB would wait for the process to read it; write less at once, or later");
    }
    input.write(bytes);
    if (!closeStdin) return;
    if (this.#pty) this.#pty.sendEnd();
    else this.#child.input?.end();
  }

  keys(keys: readonly Key[]): void {
    const pty = this.#openPty();
    pty.write(bytesOfKeys(keys, pty.isApplicationMode));
  }

  resize(size: TerminalSize): void {
    refuse(faultInSize(size));
    this.#openPty().resize(size);
  }

  /** To its whole group. Nothing happens after the end. */
  signal(signal: NodeJS.Signals): void {
    if (!this.hasEnded) this.#child.signal(signal);
  }

  /** Ends it and what is left of its group, and resolves when all are gone. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    await this.#child.stop(graceMs);
    await this.ended;
  }

  #state(): ProcessState {
    if (!this.#end) return this.#isStopping || this.#child.isEnding ? "stopping" : "running";
    if (this.#end.isLost) return "failed";
    return this.#end.why === "timeout" ? "timed_out" : "exited";
  }

  #outcome(): Pick<ProcessInfo, "exitedAtMs" | "exitCode" | "signal"> {
    if (!this.#end) return {};
    const { why, exitCode, signal, atMs } = this.#end;
    if (why === "timeout") return { exitedAtMs: atMs, exitCode: TIMEOUT_EXIT_CODE };
    return { exitedAtMs: atMs, exitCode, ...(signal !== undefined && { signal }) };
  }

  async #watch(now: () => number): Promise<void> {
    const { output } = this.#child;
    const pump = output && new Pump(output, (bytes) => this.#take(bytes));
    const end = await this.#child.ended;
    const atMs = now();
    this.#child.input?.close();
    await (pump ?? this.#pty)?.settle();
    this.#end = { ...end, atMs };
    this.#events.end();
    this.#tellChange();
  }

  #take(bytes: Uint8Array): undefined {
    this.#events.push(bytes);
    this.#tellChange();
  }

  #tellChange(): void {
    this.#changed?.resolve();
    this.#changed = undefined;
  }

  #openInput(): { waitingBytes: number; write(bytes: Uint8Array): void } {
    if (this.hasEnded || this.#child.hasExited) throw new Refusal("unavailable", "process has exited");
    const input = this.#pty ?? this.#child.input;
    if (!input || ("isEnded" in input && input.isEnded)) throw new Refusal("unavailable", "process stdin is closed");
    return input;
  }

  #openPty(): Pty {
    if (this.hasEnded || this.#child.hasExited) throw new Refusal("unavailable", "process has exited");
    if (!this.#pty) throw new Refusal("unavailable", "process is not attached to a PTY");
    return this.#pty;
  }
}
