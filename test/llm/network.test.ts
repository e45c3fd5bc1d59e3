import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { networkFailure } from "../../src/llm/network-failure.ts";
import { openai } from "../support/dialects.ts";
import { ModelServer } from "../support/model-server.ts";
import { ask, told } from "./ask.ts";

const FIXTURE = path.join(import.meta.dir, "../fixtures/ask-model.ts");

/** What a process with this environment gets of the model at `url`. */
async function askFrom(env: Record<string, string>, url: string): Promise<any> {
  const child = Bun.spawn([process.execPath, FIXTURE, url], { env: { PATH: process.env.PATH, ...env }, stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  const [out] = await Promise.all([child.stdout.text(), child.exited]);
  return JSON.parse(out);
}
const ANSWER = { content: [{ type: "text", text: "x" }] };

describe.skipIf(!Bun.which("openssl"))("A server with a certificate of a private CA", () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "rpi-tls-"));
  const file = (name: string) => path.join(dir, name);
  let server: Bun.Server<undefined>;
  let url: string;

  beforeAll(async () => {
    const openssl = async (...args: string[]) => {
      const made = Bun.spawn(["openssl", ...args], { cwd: dir, stdin: "ignore", stdout: "ignore", stderr: "ignore" });
      expect(await made.exited).toBe(0);
    };
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    await openssl("req", "-x509", ...key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=Test CA");
    await openssl("req", ...key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=127.0.0.1");
    writeFileSync(file("names"), "subjectAltName=IP:127.0.0.1\n");
    await openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "server.pem", "-days", "2", "-extfile", "names");
    const headers = { "content-type": "text/event-stream" };
    server = Bun.serve({ hostname: "127.0.0.1", port: 0, tls: { cert: Bun.file(file("server.pem")), key: Bun.file(file("server.key")) }, fetch: () => new Response(openai.answer("x").join(""), { headers }) });
    url = `https://127.0.0.1:${server.port}`;
  });
  afterAll(async () => {
    await server.stop(true);
    rmSync(dir, { recursive: true });
  });

  test("is refused in words that name the remedy, and not tried again", async () => {
    expect(await askFrom({}, url)).toEqual({
      content: [],
      failure: {
        kind: "bad_request",
        code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
        message: `The certificate of ${url} is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE). If your network or server has a CA of its own, name its file in NODE_EXTRA_CA_CERTS, or run with --use-system-ca.`,
      },
    });
  });
  for (const name of ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"]) {
    test(`is trusted when ${name} names that CA`, async () => expect(await askFrom({ [name]: file("ca.pem") }, url)).toEqual(ANSWER));
  }
});

describe("A proxy of the environment", () => {
  let proxy: ModelServer;
  beforeAll(async () => { proxy = await ModelServer.start(openai.answer("x")); });
  afterAll(() => proxy.close());

  test("is used, by any of its variables", async () => {
    for (const name of ["HTTP_PROXY", "http_proxy", "ALL_PROXY"]) {
      expect(await askFrom({ [name]: proxy.url }, "http://model.invalid:9")).toEqual(ANSWER);
      expect(proxy.last.headers.host).toBe("model.invalid:9");
    }
  });
  test("is passed by for the hosts of NO_PROXY", async () => {
    const before = proxy.requests.length;
    await using server = await ModelServer.start(openai.answer("x"));
    expect(await askFrom({ HTTP_PROXY: proxy.url, NO_PROXY: "127.0.0.1" }, server.url)).toEqual(ANSWER);
    expect([proxy.requests.length - before, server.requests.length]).toEqual([0, 1]);
  });
  test("that is not there is named as what may be missing", async () => {
    const gone = await ModelServer.start();
    await gone.close();
    expect((await askFrom({ HTTP_PROXY: gone.url }, "http://model.invalid:9")).failure.message).toBe("Connection refused: is the server running at http://model.invalid:9, or the proxy that the environment names?");
  });
});

test("Errors of the network are told in words that say what to look at", () => {
  const words = (code: string, hasBegun = false) => networkFailure(Object.assign(new Error("raw words"), { code }), "http://host:1/v1", hasBegun).failure.message;
  expect({ found: words("ENOTFOUND"), busy: words("EAI_AGAIN"), closed: words("ECONNRESET"), lost: words("ECONNRESET", true), route: words("ENETUNREACH"), other: words("EPROTO") }).toEqual({
    found: "The host host was not found. Check the address, the network and the proxy.",
    busy: "The host host was not found. Check the address, the network and the proxy.",
    closed: "http://host:1 closed the connection without an answer.",
    lost: "The connection to http://host:1 was lost in the middle of the answer.",
    route: "http://host:1 cannot be reached from here. Check the network and the proxy.",
    other: "The connection to http://host:1 failed: raw words",
  });
});

// A process that listens and is stopped: once its queue is full, the system answers no more.
test.skipIf(process.platform !== "linux")("A host that answers no connection is given up after the time to connect", async () => {
  const code = `import net from "node:net"; const s = net.createServer(); s.listen({ host: "127.0.0.1", port: 0, backlog: 1 }, () => { console.log(s.address().port); });`;
  const child = Bun.spawn([process.execPath, "-e", code], { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  const fillers: { terminate(): void }[] = [];
  try {
    const { value } = await child.stdout.getReader().read();
    const port = Number(new TextDecoder().decode(value));
    child.kill("SIGSTOP");
    for (let isFull = false; !isFull;) {
      const connecting = Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } });
      isFull = (await Promise.race([connecting, Bun.sleep(300)])) === undefined;
      void connecting.then((socket) => fillers.push(socket), () => {});
    }
    const began = performance.now();
    expect(told(await ask(`http://127.0.0.1:${port}`, { timeouts: { connectMs: 100 } }))).toEqual({
      content: [],
      stopReason: "error",
      failure: "timeout",
      says: `The model at 127.0.0.1:${port} could not be reached within 0.1 s. Check the address, the network and the proxy.`,
    });
    expect(performance.now() - began).toBeLessThan(8000);
  } finally {
    for (const socket of fillers) socket.terminate();
    child.kill("SIGKILL");
    await child.exited;
  }
});
