import http from "node:http";

/** What a server sends, or waits for before it sends more. */
export type Piece = string | Uint8Array | Promise<unknown>;

/** How a scripted server answers one request. */
export interface Answer {
  status?: number;
  headers?: Record<string, string>;
  /** Sent one after another, each in a write of its own. */
  body?: Iterable<Piece> | AsyncIterable<Piece>;
  /** After the body: a proper end (default), a broken connection, or silence until the client leaves. */
  end?: "close" | "reset" | "hang";
}

/** A request as it came. */
export interface Served {
  /** 1 for the first. */
  n: number;
  path: string;
  headers: Record<string, string>;
  raw: string;
  /** The JSON of the body. */
  body: any;
  /** Resolves when the client closes the connection before the answer has ended. */
  left: Promise<void>;
}

export type Script = (request: Served) => Answer | Iterable<Piece> | Promise<Answer | Iterable<Piece>>;

/** A model provider on 127.0.0.1 that answers by a script and keeps every request. */
export class ModelServer {
  readonly requests: Served[] = [];
  /** Where it listens, once `start` has resolved. */
  url = "";
  #script: Script;
  readonly #server: http.Server;
  #waiting: (() => void)[] = [];

  private constructor(script: Script | Answer | readonly string[]) {
    this.#script = toScript(script);
    this.#server = http.createServer((request, response) => void this.#serve(request, response));
  }

  /** The script is a function of the request, or one answer for all of them. */
  static async start(script: Script | Answer | readonly string[] = { status: 500 }): Promise<ModelServer> {
    const server = new ModelServer(script);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    server.url = `http://127.0.0.1:${(server.#server.address() as { port: number }).port}`;
    return server;
  }

  get last(): Served {
    return this.requests.at(-1)!;
  }

  /** Changes what later requests get. */
  script(script: Script | Answer | readonly string[]): void {
    this.#script = toScript(script);
  }

  /** The n-th request (from 1), once it has come. */
  async request(n: number): Promise<Served> {
    while (this.requests.length < n) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.requests[n - 1]!;
  }

  /** Ends every connection and takes no more. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const left = new Promise<void>((resolve) => {
      response.on("close", () => {
        if (!response.writableEnded) resolve();
      });
    });
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const raw = Buffer.concat(parts).toString("utf8");
    const served: Served = { n: this.requests.length + 1, path: request.url ?? "", headers: request.headers as Record<string, string>, raw, body: parsed(raw), left };
    this.requests.push(served);
    for (const wake of this.#waiting.splice(0)) wake();
    const told = await Promise.race([this.#script(served), left]);
    if (told === undefined) return;
    const answer: Answer = Symbol.iterator in told ? { body: told } : told;
    const { status = 200, headers = {}, body = [], end = "close" } = answer;
    response.writeHead(status, { "content-type": "text/event-stream", ...headers });
    response.flushHeaders();
    const pieces = Symbol.asyncIterator in body ? body[Symbol.asyncIterator]() : body[Symbol.iterator]();
    for (;;) {
      const { value: piece, done } = await pieces.next();
      if (response.destroyed) return;
      if (done) break;
      if (piece instanceof Promise) await Promise.race([piece, left]);
      else if (!response.write(piece)) await Promise.race([new Promise((resolve) => response.once("drain", resolve)), left]);
      // A turn of the loop, so that each piece is written by itself.
      await new Promise(setImmediate);
    }
    if (end === "close") response.end();
    else if (end === "reset") response.destroy();
  }
}

function toScript(script: Script | Answer | readonly string[]): Script {
  return typeof script === "function" ? script : () => (Symbol.iterator in script ? { body: script as readonly string[] } : (script as Answer));
}

function parsed(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    // A test may look at `raw`.
    return undefined;
  }
}

/** Signs of life for ever, one every `everyMs`. */
export async function* keepAlives(piece = ": keep-alive\n\n", everyMs = 20): AsyncGenerator<string> {
  for (;;) {
    yield piece;
    await Bun.sleep(everyMs);
  }
}
