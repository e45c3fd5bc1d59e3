import { Refusal } from "../base/refusal.ts";
import { KeyMode } from "./keys.ts";

export interface TerminalSize {
  cols: number;
  rows: number;
}

const EOT = "\x04";
const SETTLE_MS = 100;
const QUIET_MS = 20;

/** A pseudo-terminal with one program on it, whose controlling terminal it is. */
export class Pty {
  readonly #size: TerminalSize;
  readonly #onData: (bytes: Uint8Array) => void;
  readonly #keyMode = new KeyMode();
  #terminal: Bun.Terminal | undefined;
  #waitingBytes = 0;
  #dataAt = 0;
  #isInLine = false;
  #isAtEnd = false;

  /** The bytes are valid during the call only. A terminal cannot be held up: they must be taken as they come. */
  constructor(size: TerminalSize, onData: (bytes: Uint8Array) => void) {
    this.#size = size;
    this.#onData = onData;
  }

  /** Starts the program. Throws what the system says when it does not start. */
  start(o: { argv: readonly string[]; cwd: string; env: Record<string, string> }): Bun.Subprocess {
    if (!("Terminal" in Bun)) throw new Refusal("unavailable", "there are no PTYs on this system");
    const terminal = {
      ...this.#size,
      data: (_: Bun.Terminal, bytes: Uint8Array) => this.#take(bytes),
      drain: () => void (this.#waitingBytes = 0),
      exit: () => void (this.#isAtEnd = true),
    };
    const process = Bun.spawn([...o.argv], { cwd: o.cwd, env: terminalEnvironment(o.env), terminal });
    this.#terminal = process.terminal;
    return process;
  }

  /** Bytes that the program's side of the terminal has not taken yet. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  get isApplicationMode(): boolean {
    return this.#keyMode.isApplicationMode;
  }

  write(data: Uint8Array | string): void {
    if (data.length === 0 || !this.#terminal || this.#terminal.closed) return;
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    this.#waitingBytes += bytes.length;
    const last = bytes[bytes.length - 1];
    this.#isInLine = last !== 0x0a && last !== 0x0d && last !== EOT.charCodeAt(0);
    // The terminal may keep what it is given until it can be written.
    this.#terminal.write(bytes.slice());
  }

  /** Sends the end of input. Inside a line the first EOT only hands that line over. */
  sendEnd(): void {
    this.write(this.#isInLine ? EOT + EOT : EOT);
  }

  resize({ cols, rows }: TerminalSize): void {
    this.#terminal?.resize(cols, rows);
  }

  /** To be called after the exit of the program: resolves when its last output has come, and hangs up on what it left. */
  async settle(): Promise<void> {
    const from = performance.now();
    this.#dataAt = from;
    for (let turns = 0; !this.#isAtEnd && performance.now() - from < SETTLE_MS; turns += 1) {
      // Several turns of the event loop too, for a busy one may not have had the time to read.
      if (turns > 5 && performance.now() - this.#dataAt >= QUIET_MS) break;
      await Bun.sleep(1);
    }
    this.#terminal?.close();
  }

  #take(bytes: Uint8Array): void {
    this.#dataAt = performance.now();
    this.#keyMode.push(bytes);
    this.#onData(bytes);
  }
}

function terminalEnvironment(env: Record<string, string>): Record<string, string> {
  // Those of rpi's own terminal would say another size.
  const { LINES: _lines, COLUMNS: _columns, ...rest } = env;
  return { ...rest, TERM: env["TERM"] && env["TERM"] !== "dumb" ? env["TERM"] : "xterm-256color" };
}
