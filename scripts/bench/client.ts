import { memoryOf } from "../../test/support/leftovers.ts";
import { LineReader } from "../../test/support/line-reader.ts";

/** Beyond this a row has failed. */
const PATIENCE_MS = 60_000;

/** The other end of a measured program's pipes. It looks at lines as bytes, so that reading costs little beside what is measured. */
export class Client implements AsyncDisposable {
  readonly pid: number;
  #child: Bun.Subprocess<"pipe", "pipe", "ignore">;
  #stdout: LineReader;
  #waiting: { needle: string; resolve: (line: string) => void; reject: (error: Error) => void } | undefined;
  #watched: { needle: string; times: number[] }[] = [];
  #sent = 0;
  #hasEnded = false;

  constructor(argv: string[], options: { cwd: string; env: Record<string, string> }) {
    this.#child = Bun.spawn(argv, { ...options, stdin: "pipe", stdout: "pipe", stderr: "ignore" });
    this.pid = this.#child.pid;
    this.#stdout = new LineReader(this.#child.stdout, (line) => this.#take(line));
    void this.#stdout.ended.then(() => {
      this.#hasEnded = true;
      this.#waiting?.reject(new Error(`the program ended while the bench waited for ${this.#waiting.needle}`));
    });
  }

  #take(line: Uint8Array): void {
    const bytes = Buffer.from(line.buffer, line.byteOffset, line.byteLength);
    for (const { needle, times } of this.#watched) if (bytes.includes(needle)) times.push(performance.now());
    if (!this.#waiting || !bytes.includes(this.#waiting.needle)) return;
    const { resolve } = this.#waiting;
    this.#waiting = undefined;
    resolve(bytes.toString());
  }

  write(text: string): void {
    this.#child.stdin.write(text);
    this.#child.stdin.flush();
  }

  send(record: object): void {
    this.write(`${JSON.stringify(record)}\n`);
  }

  /** The next line that holds this text. One wait at a time. */
  line(needle: string): Promise<string> {
    if (this.#hasEnded) return Promise.reject(new Error(`the program had ended before the bench waited for ${needle}`));
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.#waiting = { needle, resolve, reject };
    const timer = setTimeout(() => reject(new Error(`${needle} did not come within ${PATIENCE_MS / 1000} s`)), PATIENCE_MS);
    return promise.finally(() => clearTimeout(timer));
  }

  /** When each line that holds this text comes, from now on; the array is filled as they do. */
  watch(needle: string): readonly number[] {
    const times: number[] = [];
    this.#watched.push({ needle, times });
    return times;
  }

  /** Sends a request and waits for its success. */
  async ask(record: object): Promise<string> {
    this.#sent += 1;
    const id = `b${this.#sent}`;
    const answer = this.line(`"id":"${id}","type":"response"`);
    this.send({ id, ...record });
    const line = await answer;
    if (!line.includes('"success":true')) throw new Error(`the bench was refused: ${line.slice(0, 500)}`);
    return line;
  }

  /** Prompts and waits until the run has settled. */
  async prompt(message: string): Promise<string> {
    const settled = this.line('"type":"agent_settled"');
    this.send({ type: "prompt", message });
    return await settled;
  }

  pauseReading(): void {
    this.#stdout.pause();
  }
  resumeReading(): void {
    this.#stdout.resume();
  }

  memory(): { rssBytes: number; peakBytes: number } {
    return memoryOf(this.pid);
  }

  closeStdin(): void {
    this.#child.stdin.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.closeStdin();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 2000);
    await this.#child.exited;
    clearTimeout(timer);
    await this.#stdout.close();
  }
}
