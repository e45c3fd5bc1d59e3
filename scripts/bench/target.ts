import { Sandbox } from "../../test/support/sandbox.ts";
import { Client } from "./client.ts";
import { startModelServer } from "./model-server.ts";

/** A program that is measured: rpi, or an installed pi. */
export class Target implements AsyncDisposable {
  readonly name: string;
  readonly sandbox: Sandbox;
  readonly server: { url: string };
  #argv: string[];
  #stopServer: () => Promise<void>;

  private constructor(name: string, argv: string[], sandbox: Sandbox, server: { url: string; stop(): Promise<void> }) {
    this.name = name;
    this.#argv = argv;
    this.sandbox = sandbox;
    this.server = server;
    this.#stopServer = server.stop;
  }

  /** With a sandbox and a local model server of its own. */
  static async make(name: string, argv: string[]): Promise<Target> {
    const server = await startModelServer();
    const sandbox = new Sandbox();
    // The window is as wide as it is so that no row measures a compaction that it did not ask for.
    const model = { id: "bench-1", contextWindow: 100_000_000, maxTokens: 8000 };
    sandbox.writeAgent("models.json", { providers: { bench: { baseUrl: `${server.url}/v1`, api: "openai-completions", apiKey: "none", models: [model] } } });
    return new Target(name, argv, sandbox, server);
  }

  /** Starts it in RPC mode. */
  start(...args: string[]): Client {
    return new Client([...this.#argv, "--mode", "rpc", "--model", "bench/bench-1", ...args], { cwd: this.sandbox.cwd, env: this.sandbox.env() });
  }

  /** Starts it and waits until it answers. */
  async ready(...args: string[]): Promise<Client> {
    const client = this.start(...args);
    await client.ask({ type: "get_state" });
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stopServer();
    this.sandbox[Symbol.dispose]();
  }
}
