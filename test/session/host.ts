import path from "node:path";

const PROGRAM = path.join(import.meta.dirname, "../fixtures/session/host.ts");

/** Another process with a session, see test/fixtures/session/host.ts. Killed when disposed. */
export class Host {
  private readonly child: Bun.Subprocess<"pipe", "pipe", "inherit">;
  private readonly lines: AsyncIterator<string>;

  private constructor(wrapper: readonly string[]) {
    this.child = Bun.spawn([...wrapper, process.execPath, PROGRAM], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
    this.lines = linesOf(this.child.stdout);
  }

  /** Resolves once it listens. */
  static async start(...wrapper: string[]): Promise<Host> {
    const host = new Host(wrapper);
    await host.answer();
    return host;
  }

  get pid(): number {
    return this.child.pid;
  }

  async ask(line: string): Promise<any> {
    this.tell(line);
    return this.answer();
  }

  tell(line: string): void {
    this.child.stdin.write(`${line}\n`);
    void this.child.stdin.flush();
  }

  /** Its next line; undefined after the last. */
  async answer(): Promise<any> {
    const { value, done } = await this.lines.next();
    return done ? undefined : JSON.parse(value);
  }

  /** Ends it without a chance to clean up; resolves when it is gone. */
  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of stream) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
  return undefined;
}
