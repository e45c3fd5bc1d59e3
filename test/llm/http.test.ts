import http from "node:http";
import { afterAll, describe, expect, test } from "bun:test";
import { endpoint } from "../../src/llm/http.ts";
import { anthropic, openai } from "../support/dialects.ts";
import { keepAlives, ModelServer, type Answer } from "../support/model-server.ts";
import { ask, told } from "./ask.ts";

const server = await ModelServer.start();
afterAll(() => server.close());

async function failureOf(answer: Answer) {
  server.script(answer);
  return (await ask(server.url)).failure;
}

const json = (value: unknown) => [JSON.stringify(value)];

describe("A failed response is told by kind", () => {
  const cases: [name: string, answer: Answer, failure: object][] = [
    ["a bad request", { status: 400, body: json({ error: { message: "bad field", type: "invalid_request_error" } }) }, { kind: "bad_request", status: 400, code: "invalid_request_error", message: "400 bad field" }],
    ["a wrong key", { status: 401, body: json({ error: { message: "bad key sk-test-key-0123" } }) }, { kind: "auth", status: 401, message: "401 bad key [redacted] (check the API key of this provider)" }],
    ["a missing address", { status: 404, body: [] }, { kind: "bad_request", status: 404, message: `404 without a body (is ${server.url}/v1/chat/completions the right baseUrl?)` }],
    ["an unknown model", { status: 404, body: json({ error: "model 'm' not found" }) }, { kind: "bad_request", status: 404, message: "404 model 'm' not found" }],
    ["a spent quota", { status: 429, body: json({ error: { message: "You exceeded your current quota", code: "insufficient_quota" } }) }, { kind: "quota", status: 429, code: "insufficient_quota", message: "429 You exceeded your current quota (check the plan and the balance of this account)" }],
    ["no more money", { status: 402, body: json({ error: { message: "pay" } }) }, { kind: "quota", status: 402, message: "402 pay (check the plan and the balance of this account)" }],
    ["an overloaded server", { status: 529, body: json({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }) }, { kind: "overloaded", status: 529, code: "overloaded_error", message: "529 Overloaded" }],
    ["an unavailable server", { status: 503, body: ["upstream down"] }, { kind: "overloaded", status: 503, message: "503 upstream down" }],
    ["a broken server", { status: 500, body: json({ detail: "oops" }) }, { kind: "server", status: 500, message: "500 oops" }],
    ["a gateway's web page", { status: 502, headers: { "content-type": "text/html" }, body: ["<html><head><title>502 Bad Gateway</title></head><body><h1>502</h1></body></html>"] }, { kind: "server", status: 502, message: "502 Bad Gateway (a web page, not the answer of a model server)" }],
    ["too long a context", { status: 400, body: json({ error: { message: "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens." } }) }, { kind: "overflow", status: 400, contextWindow: 8192, message: "400 This model's maximum context length is 8192 tokens. However, you requested 9000 tokens." }],
    ["too many bytes", { status: 413, body: [] }, { kind: "overflow", status: 413, message: "413 without a body" }],
    ["too many tokens a minute", { status: 429, body: json({ error: { message: "Request too large for m on tokens per minute (TPM): Limit 30000, Requested 40000. Please reduce the length of the messages." } }) }, { kind: "rate_limit", status: 429, message: "429 Request too large for m on tokens per minute (TPM): Limit 30000, Requested 40000. Please reduce the length of the messages." }],
    ["words of a provider behind a router", { status: 400, body: json({ error: { message: "Provider returned error", code: 400, metadata: { raw: "context is broken" } } }) }, { kind: "bad_request", status: 400, code: "400", message: "400 Provider returned error: context is broken" }],
  ];
  for (const [name, answer, failure] of cases) {
    test(name, async () => expect(await failureOf(answer)).toEqual(failure as never));
  }
});

test("What a server refused of a request is told by its words", async () => {
  const said: [status: number, message: string, refused: string | undefined][] = [
    [400, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes", "images"],
    [400, "Could not process image", "images"],
    [400, "You uploaded an unsupported image. Please make sure your image is valid.", "images"],
    [400, "Failed to deserialize the JSON body: unknown variant `image_url`, expected `text`", "images"],
    [404, "No endpoints found that support image input", "images"],
    [500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj", "images"],
    [500, "the image of the worker could not be pulled", undefined],
    [400, "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...", "roles_in_a_row"],
    [500, "Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...", "roles_in_a_row"],
    [400, "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"user\" roles in a row", "roles_in_a_row"],
    [400, "max_tokens is too large", undefined],
    [429, "too many images per minute", undefined],
  ];
  for (const [status, message, refused] of said) expect([message, (await failureOf({ status, body: json({ error: { message } }) }))?.refused]).toEqual([message, refused as never]);
});

describe("The wait that a server asks for is heard", () => {
  const waits: [name: string, answer: Answer, kind: string, ms: number][] = [
    ["in seconds", { status: 429, headers: { "retry-after": "3" } }, "rate_limit", 3000],
    ["in parts of seconds", { status: 503, headers: { "retry-after": "0.5" } }, "overloaded", 500],
    ["in milliseconds", { status: 429, headers: { "retry-after-ms": "1500", "retry-after": "2" } }, "rate_limit", 1500],
    ["with 402", { status: 402, headers: { "retry-after": "7" } }, "rate_limit", 7000],
    ["with 402, though it speaks of money", { status: 402, headers: { "retry-after": "7" }, body: json({ error: { message: "Payment required", code: "insufficient_quota" } }) }, "rate_limit", 7000],
    ["with 529", { status: 529, headers: { "retry-after": "9" } }, "overloaded", 9000],
    ["as a field of the body", { status: 429, body: json({ error: { message: "slow down", retry_after_seconds: 7 } }) }, "rate_limit", 7000],
    ["as a field in milliseconds", { status: 429, body: json({ error: { message: "slow down" }, retry_after_ms: 700 }) }, "rate_limit", 700],
    ["as Gemini's delay, though it speaks of billing", { status: 429, body: json({ error: { message: "You exceeded your current quota, check your plan and billing", details: [{ retryDelay: "34s" }] } }) }, "rate_limit", 34_000],
    ["in a sentence", { status: 429, body: json({ error: { message: "Rate limit reached. Please try again in 1m3.5s." } }) }, "rate_limit", 63_500],
    ["in a sentence, in milliseconds", { status: 429, body: json({ error: { message: "Please try again in 250ms." } }) }, "rate_limit", 250],
    ["of hours", { status: 429, headers: { "retry-after": "18000" } }, "rate_limit", 18_000_000],
  ];
  for (const [name, answer, kind, ms] of waits) {
    test(name, async () => expect(await failureOf(answer)).toMatchObject({ kind, retryAfterMs: ms }));
  }

  test("as a date", async () => {
    const failure = await failureOf({ status: 429, headers: { "retry-after": new Date(Date.now() + 5000).toUTCString() } });
    expect(failure?.retryAfterMs).toBeWithin(2000, 5001);
  });
  test("as a date that has passed", async () => {
    expect(await failureOf({ status: 503, headers: { "retry-after": new Date(1).toUTCString() } })).toMatchObject({ retryAfterMs: 0 });
  });
  test("in words for people", async () => {
    expect(await failureOf({ status: 429, headers: { "retry-after": "18000" }, body: json({ error: { message: "come back later" } }) })).toMatchObject({ message: "429 come back later (the server asks to wait 5 h)" });
  });
});

describe("A connection that fails says what to do", () => {
  test("when nobody listens", async () => {
    const gone = await ModelServer.start();
    const { url } = gone;
    await gone.close();
    expect((await ask(url)).failure).toEqual({ kind: "network", code: "ECONNREFUSED", message: `Connection refused: is the server running at ${url}?` });
  });
  test("when the baseUrl is none", async () => {
    expect((await ask("", { provider: { baseUrl: "localhost" } })).failure).toEqual({ kind: "bad_request", message: "baseUrl is not a URL: localhost/chat/completions" });
  });
  test("when the connection is closed without an answer", async () => {
    using listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: (socket) => void socket.end() } });
    expect((await ask(`http://127.0.0.1:${listener.port}`)).failure).toMatchObject({ kind: "network", message: `http://127.0.0.1:${listener.port} closed the connection without an answer.` });
  });
});

describe("A silent server is given up", () => {
  const silent = (message: string) => ({ kind: "timeout", message: `The model at 127.0.0.1:${new URL(server.url).port} ${message}` });

  test("when it takes the request and never answers", async () => {
    const never = Promise.withResolvers<Answer>();
    server.script(() => never.promise);
    expect((await ask(server.url, { timeouts: { firstEventMs: 50 } })).failure).toEqual(silent("did not begin to answer within 0.05 s (setting timeouts.firstEventMs).") as never);
    await server.last.left;
    never.resolve({});
  });
  test("when it sends headers and nothing else", async () => {
    server.script({ body: [": \n\n"], end: "hang" });
    expect((await ask(server.url, { timeouts: { firstEventMs: 50 } })).failure).toMatchObject({ kind: "timeout" });
    await server.last.left;
  });
  test("when it sends nothing but keep-alives, in comments or in events", async () => {
    for (const [api, piece] of [["openai-completions", ": keep-alive\n\n"], ["openai-completions", openai.chunk({})], ["openai-completions", 'data: {"choices":[]}\n\n'], ["anthropic-messages", anthropic.event("ping")]] as const) {
      server.script(() => ({ body: keepAlives(piece, 5) }));
      expect((await ask(server.url, { api, timeouts: { firstEventMs: 60, idleMs: 20 } })).failure).toMatchObject({ kind: "timeout", message: expect.stringContaining("firstEventMs") });
      await server.last.left;
    }
  });
  test("when it falls silent in the middle, keep-alives aside; what came is kept", async () => {
    async function* body() {
      yield openai.text("partial");
      yield* keepAlives(": ping\n\n", 5);
    }
    server.script(() => ({ body: body() }));
    expect(told(await ask(server.url, { timeouts: { idleMs: 60 } }))).toEqual({
      content: [{ type: "text", text: "partial" }],
      stopReason: "error",
      failure: "timeout",
      says: silent("fell silent in the middle of its answer for 0.06 s (setting timeouts.idleMs).").message,
    });
    await server.last.left;
  });
  test("when no connection can be made; a connection that is only slow to answer is left alone", async () => {
    server.script(async () => (await Bun.sleep(60), openai.answer("late")));
    expect(told(await ask(server.url, { timeouts: { connectMs: 10 } }))).toEqual({ content: [{ type: "text", text: "late" }], stopReason: "stop" });
  });
});

describe("An answer that is whole does not fail", () => {
  const said: [api: string, body: string[]][] = [
    ["openai-completions", [openai.text("all"), openai.finish("stop")]],
    ["anthropic-messages", [anthropic.start(), ...anthropic.textBlock(0, "all"), anthropic.stop("end_turn")[0]!]],
  ];
  const all = { content: [{ type: "text", text: "all" }], stopReason: "stop" };
  for (const [api, body] of said) {
    test(`when the server then says nothing more and stays (${api})`, async () => {
      server.script({ body, end: "hang" });
      expect(told(await ask(server.url, { api, timeouts: { idleMs: 40 } }))).toEqual(all);
      await server.last.left;
      server.script(() => ({ body: concat(body, keepAlives(": ping\n\n", 5)) }));
      expect(told(await ask(server.url, { api, timeouts: { idleMs: 40 } }))).toEqual(all);
    });
    test(`when the connection then breaks (${api})`, async () => {
      const seen = Promise.withResolvers<void>();
      server.script({ body: [body.join(""), seen.promise], end: "reset" });
      expect(told(await ask(server.url, { api, onEvent: ({ type }) => type === "text_delta" && seen.resolve() }))).toEqual(all);
    });
  }
  test("though its counts come late, or more of it", async () => {
    async function* body() {
      yield openai.finish("stop");
      await Bun.sleep(30);
      yield openai.text("more");
      yield openai.finish("stop");
      await Bun.sleep(30);
      yield openai.usage({ prompt_tokens: 7, completion_tokens: 3 });
    }
    server.script(() => ({ body: body(), end: "hang" }));
    const { message } = await ask(server.url, { timeouts: { idleMs: 60 } });
    expect([message.content, message.usage.totalTokens]).toEqual([[{ type: "text", text: "more" }], 10]);
  });
  test("but an error that the server then tells is one", async () => {
    server.script([openai.text("all"), openai.finish("stop"), openai.error({ message: "no", code: 400 })]);
    expect((await ask(server.url)).failure).toMatchObject({ kind: "bad_request" });
  });

  async function* concat(first: string[], then: AsyncIterable<string>) {
    yield* first;
    yield* then;
  }
});

test("A steady answer is never given up, however long it takes in all", async () => {
  async function* body() {
    for (let n = 0; n < 10; n += 1) {
      yield openai.text(".");
      await Bun.sleep(20);
    }
    yield openai.finish("stop");
    yield openai.done;
  }
  server.script(() => ({ body: body() }));
  expect(told(await ask(server.url, { timeouts: { firstEventMs: 150, idleMs: 150 } }))).toEqual({ content: [{ type: "text", text: ".........." }], stopReason: "stop" });
});

describe("An abort ends the request at once and closes the connection", () => {
  async function abortWhen(answer: Answer, when: (abort: () => void) => void | Promise<void>) {
    server.script(answer);
    const before = server.requests.length;
    const controller = new AbortController();
    let text!: () => void;
    const hasText = new Promise<void>((resolve) => { text = resolve; });
    const asked = ask(server.url, { signal: controller.signal, onEvent: text });
    const request = await server.request(before + 1);
    if ((answer.body as unknown[] | undefined)?.length) await hasText;
    await when(() => controller.abort());
    const result = told(await asked);
    await request.left;
    return result;
  }
  const aborted = { content: [], stopReason: "aborted" };

  test("before the server answers", async () => {
    const never = Promise.withResolvers<Answer>();
    const controller = new AbortController();
    server.script(() => never.promise);
    const before = server.requests.length;
    const asked = ask(server.url, { signal: controller.signal });
    const request = await server.request(before + 1);
    controller.abort();
    expect(told(await asked)).toEqual(aborted);
    await request.left;
    never.resolve({});
  });
  test("while it is silent behind its headers", async () => {
    expect(await abortWhen({ end: "hang" }, (abort) => abort())).toEqual(aborted);
  });
  test("while it is silent in the middle of its answer; what came is kept and its blocks are ended", async () => {
    expect(await abortWhen({ body: [openai.text("part")], end: "hang" }, (abort) => abort())).toEqual({ content: [{ type: "text", text: "part" }], stopReason: "aborted" });
  });
  test("while it goes on with an error's body", async () => {
    expect(await abortWhen({ status: 500, end: "hang" }, (abort) => abort())).toEqual(aborted);
  });
  test("before it begins, without a request", async () => {
    const before = server.requests.length;
    expect(told(await ask(server.url, { signal: AbortSignal.abort() }))).toEqual(aborted);
    expect(server.requests.length).toBe(before);
  });
  test("while a slow reader holds it", async () => {
    const controller = new AbortController();
    server.script({ body: [openai.text("x")], end: "hang" });
    const asked = ask(server.url, {
      signal: controller.signal,
      ready: () => {
        queueMicrotask(() => controller.abort());
        return new Promise(() => {});
      },
    });
    expect(told(await asked)).toEqual(aborted);
  });
});

test("A failure in the middle closes the connection", async () => {
  server.script({ body: [openai.text("x"), openai.error({ message: "it broke" })], end: "hang" });
  expect(told(await ask(server.url))).toMatchObject({ stopReason: "error", says: "it broke" });
  await server.last.left;
});

test("An error whose body does not end is told all the same", async () => {
  server.script({ status: 400, body: ["bad fie"], end: "hang" });
  expect((await ask(server.url, { timeouts: { idleMs: 50 } })).failure).toEqual({ kind: "bad_request", status: 400, message: "400 bad fie" });
  await server.last.left;
});

test("Requests one after another share a connection", async () => {
  let connections = 0;
  const counting = http.createServer(async (request, response) => {
    request.resume();
    await new Promise((resolve) => request.on("end", resolve));
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(openai.answer("x").join(""));
  });
  counting.on("connection", () => { connections += 1; });
  await new Promise<void>((resolve) => counting.listen(0, "127.0.0.1", resolve));
  for (let n = 0; n < 3; n += 1) await ask(`http://127.0.0.1:${(counting.address() as { port: number }).port}`);
  expect(connections).toBe(1);
  counting.closeAllConnections();
  counting.close();
});

describe("A slow reader", () => {
  test("makes the server wait", async () => {
    const piece = openai.text("x".repeat(50_000));
    let sent = 0;
    function* body() {
      for (; sent < 2000; sent += 1) yield piece;
      yield openai.finish("stop");
      yield openai.done;
    }
    server.script(() => ({ body: body() }));
    const gate = Promise.withResolvers<void>();
    let isHeld = false;
    const asked = ask(server.url, {
      onEvent: () => { isHeld = true; },
      ready: () => (isHeld ? gate.promise : undefined),
    });
    // Until nothing moves: what is under way fits into the buffers between the two.
    for (let before = -1; before !== sent || sent === 0; await Bun.sleep(100)) before = sent;
    expect(sent).toBeLessThan(1000);
    gate.resolve();
    const { message } = await asked;
    expect([message.stopReason, sent]).toEqual(["stop", 2000]);
  });

  test("is no silence of the model", async () => {
    server.script(openai.answer("a", "b"));
    let held = 0;
    const result = await ask(server.url, { timeouts: { firstEventMs: 30, idleMs: 30 }, ready: () => (held++ < 2 ? Bun.sleep(80) : undefined) });
    expect(told(result)).toEqual({ content: [{ type: "text", text: "ab" }], stopReason: "stop" });
  });
});

test("The key never appears in a failure, nor do secret headers", async () => {
  server.script({ status: 400, body: json({ error: { message: "you sent Bearer sk-test-key-0123 and header-secret" } }) });
  const { message, failure } = await ask(server.url, { provider: { headers: { "x-secret": "$SECRET" } }, env: { SECRET: "header-secret" } });
  expect(server.last.headers).toMatchObject({ authorization: "Bearer sk-test-key-0123", "x-secret": "header-secret" });
  expect([message.errorMessage, failure?.message]).toEqual(Array(2).fill("400 you sent Bearer [redacted] and [redacted]"));
});

test("A baseUrl may end in a slash, name the endpoint, or carry a query", () => {
  expect(["http://h/v1", "http://h/v1/", "http://h/v1/chat/completions", "http://h/v1?api-version=1"].map((url) => endpoint(url, "/chat/completions"))).toEqual([
    "http://h/v1/chat/completions", "http://h/v1/chat/completions", "http://h/v1/chat/completions", "http://h/v1/chat/completions?api-version=1",
  ]);
});
