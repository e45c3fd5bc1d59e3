import { afterAll, describe, expect, test } from "bun:test";
import type { Message } from "../../src/llm/message.ts";
import type { ThinkingLevel } from "../../src/llm/model.ts";
import { anthropic } from "../support/dialects.ts";
import { ModelServer, type Served } from "../support/model-server.ts";
import { ask, told, user, type Ask } from "./ask.ts";
import { call, PNG, result, said, specOf, TOOL } from "./transcript.ts";

const server = await ModelServer.start(anthropic.answer("x"));
afterAll(() => server.close());

const API = { api: "anthropic-messages" };
const SPEC = specOf("anthropic-messages");
const CACHE = { cache_control: { type: "ephemeral" } };

async function bodyOf(options: Ask = {}): Promise<any> {
  await ask(server.url, { ...API, ...options });
  return server.last.body;
}
const messagesOf = async (messages: Message[], options: Ask = {}) => (await bodyOf({ ...options, request: { messages, ...options.request } })).messages;
const text = (words: string) => ({ type: "text" as const, text: words });

test("A request marks its stable prefix for the cache", async () => {
  expect(await bodyOf({ request: { systemPrompt: "Be brief.", tools: [{ ...TOOL, name: "ls" }, TOOL], messages: [user("a"), said(SPEC, [text("b")]), user("c"), said(SPEC, [text("d")]), user("e")] } })).toEqual({
    model: "m",
    max_tokens: 8000,
    stream: true,
    system: [{ ...text("Be brief."), ...CACHE }],
    tools: ["ls", "bash"].map((name) => ({
      name,
      description: "Runs a command.",
      input_schema: { type: "object", properties: { command: { type: "string" } }, required: ["command"], additionalProperties: false },
      ...(name === "bash" ? CACHE : {}),
    })),
    messages: [
      { role: "user", content: [text("a")] },
      { role: "assistant", content: [text("b")] },
      { role: "user", content: [{ ...text("c"), ...CACHE }] },
      { role: "assistant", content: [text("d")] },
      { role: "user", content: [{ ...text("e"), ...CACHE }] },
    ],
  });
  expect(server.last.path).toBe("/v1/messages");
  expect(server.last.headers).toMatchObject({ "x-api-key": "sk-test-key-0123", "anthropic-version": "2023-06-01" });
  expect(server.last.headers).not.toHaveProperty("authorization");
});

test("A bound is always sent, though nobody named one", async () => {
  expect(await bodyOf({ model: { maxTokens: 0 } })).toMatchObject({ max_tokens: 8192 });
});

test("The key goes as a bearer where the provider wants that", async () => {
  await ask(server.url, { ...API, provider: { authHeader: true, baseUrl: `${server.url}/v1` } });
  expect([server.last.headers.authorization, server.last.headers["x-api-key"], server.last.path]).toEqual(["Bearer sk-test-key-0123", undefined, "/v1/messages"] as never);
});

test("Switches of a server are heard", async () => {
  await ask(server.url, { ...API, model: { compat: { supportsCacheControlOnTools: false, supportsEagerToolInputStreaming: true, sendSessionAffinityHeaders: true } }, request: { tools: [TOOL], sessionId: "s" } });
  expect(server.last.body.tools[0]).toMatchObject({ eager_input_streaming: true });
  expect(server.last.body.tools[0]).not.toHaveProperty("cache_control");
  expect(server.last.headers["x-session-affinity"]).toBe("s");
});

describe("Messages", () => {
  test("give thinking back with its signature, redacted as it came, unsigned as text", async () => {
    const [, assistant] = await messagesOf([
      user("hi"),
      said(SPEC, [
        { type: "thinking", thinking: "hm", thinkingSignature: "sig" },
        { type: "thinking", thinking: "", thinkingSignature: "AAAA", redacted: true },
        { type: "thinking", thinking: "cut" },
        text("x"),
      ]),
      user("y"),
    ]);
    expect(assistant.content).toEqual([{ type: "thinking", thinking: "hm", signature: "sig" }, { type: "redacted_thinking", data: "AAAA" }, text("cut"), text("x")]);
  });
  test("hold the results of a turn together, right behind the calls and before what the user said", async () => {
    expect(await messagesOf([user("hi"), said(SPEC, [call("a", { command: "ls" }), call("b")]), result("a", "files"), result("b", "no", { isError: true }), user("and?")])).toEqual([
      { role: "user", content: [{ ...text("hi"), ...CACHE }] },
      { role: "assistant", content: [{ type: "tool_use", id: "a", name: "bash", input: { command: "ls" } }, { type: "tool_use", id: "b", name: "bash", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "files" }, { type: "tool_result", tool_use_id: "b", content: "no", is_error: true }] },
      { role: "user", content: [{ ...text("and?"), ...CACHE }] },
    ]);
  });
  test("of the user in a row are one, results first, for a server that refuses them apart", async () => {
    const joined = await messagesOf([user("a"), user("b"), said(SPEC, [call("c")]), result("c", "d"), user("e")], { request: { joinsUsers: true } });
    expect(joined.map(({ role, content }: any) => [role, content.map((block: any) => block.text ?? block.type)])).toEqual([["user", ["a", "b"]], ["assistant", ["tool_use"]], ["user", ["tool_result", "e"]]]);
  });
  test("hold images, those of failed results behind the results", async () => {
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: PNG.data } };
    const messages = await messagesOf([user([text("see"), PNG]), said(SPEC, [call("a"), call("b")]), result("a", [text("one"), PNG], { isError: true }), result("b", [PNG])], { model: { input: ["text", "image"] } });
    expect(messages[0].content).toEqual([text("see"), { ...image, ...CACHE }]);
    expect(messages[2].content).toEqual([
      { type: "tool_result", tool_use_id: "a", content: "one", is_error: true },
      { type: "tool_result", tool_use_id: "b", content: [image] },
      text("Images of the failed call a (bash):"),
      { ...image, ...CACHE },
    ]);
  });
  test("begin and end with the user's", async () => {
    expect((await messagesOf([said(SPEC, [text("a")]), said(SPEC, [text("b")]), user("c"), user("d"), said(SPEC, [text("e")])])).map(({ role, content }: any) => [role, content.map((block: any) => block.text)])).toEqual([
      ["user", ["(The conversation goes on.)"]], ["assistant", ["a", "b"]], ["user", ["c"]], ["user", ["d"]], ["assistant", ["e"]], ["user", ["Continue."]],
    ]);
    expect(await messagesOf([])).toEqual([{ role: "user", content: [{ ...text("(The conversation goes on.)"), ...CACHE }] }]);
  });
});

describe("Thinking", () => {
  const fields = async (thinkingLevel: ThinkingLevel, model: Ask["model"] = {}, request: Ask["request"] = {}) => {
    const { thinking, output_config } = await bodyOf({ model: { reasoning: true, maxTokens: 32_000, ...model }, request: { thinkingLevel, ...request } });
    return { ...(thinking ? { thinking } : {}), ...(output_config ? { output_config } : {}), beta: server.last.headers["anthropic-beta"] };
  };
  const INTERLEAVED = "interleaved-thinking-2025-05-14";

  test("has a budget of its level, within the bound of the answer", async () => {
    expect(await fields("low")).toEqual({ thinking: { type: "enabled", budget_tokens: 2048 }, beta: INTERLEAVED });
    expect(await fields("high")).toEqual({ thinking: { type: "enabled", budget_tokens: 16_384 }, beta: INTERLEAVED });
    expect(await fields("high", { maxTokens: 8000 })).toEqual({ thinking: { type: "enabled", budget_tokens: 8000 - 1024 }, beta: INTERLEAVED });
    expect(await fields("high", { maxTokens: 2000 })).toEqual({ beta: undefined as never });
  });
  test("has an effort where the model decides for itself", async () => {
    const compat = { forceAdaptiveThinking: true };
    const adaptive = { type: "adaptive", display: "summarized" };
    expect(await fields("minimal", { compat })).toEqual({ thinking: adaptive, output_config: { effort: "low" }, beta: undefined as never });
    expect(await fields("max", { compat, thinkingLevelMap: { max: "max" } })).toEqual({ thinking: adaptive, output_config: { effort: "max" }, beta: undefined as never });
  });
  test("is turned off where it can be, and not spoken of to a model without it", async () => {
    expect(await fields("off")).toEqual({ thinking: { type: "disabled" }, beta: undefined as never });
    expect(await fields("off", { thinkingLevelMap: { off: null } })).toEqual({ beta: undefined as never });
    expect(await fields("high", { reasoning: false })).toEqual({ beta: undefined as never });
  });
  test("does not begin in the middle of a turn that began without it", async () => {
    const turn = (first: Parameters<typeof said>[1]) => [user("hi"), said(SPEC, [...first, call("a")]), result("a")];
    expect(await fields("low", {}, { messages: turn([text("x")]) })).toEqual({ beta: undefined as never });
    expect(await fields("low", {}, { messages: turn([{ type: "thinking", thinking: "hm", thinkingSignature: "s" }]) })).toMatchObject({ thinking: { type: "enabled" } });
    expect(await fields("low", {}, { messages: [...turn([text("x")]), said(SPEC, [text("y")]), user("z")] })).toMatchObject({ thinking: { type: "enabled" } });
  });
});

/** Refuses what the api refuses. */
function faultOf({ body }: Served): string | undefined {
  const seen = new Set<string>();
  let open = new Set<string>();
  // The api takes user messages in a row as one.
  for (const [at, { role, content }] of body.messages.entries()) {
    if (role !== "user" && (role !== "assistant" || body.messages[at - 1]?.role !== "user")) return `messages.${at}: ${role} out of order`;
    if (!Array.isArray(content) || content.length === 0) return `messages.${at}: no content`;
    let isPastResults = false;
    for (const block of content) {
      if (block.type === "tool_result") {
        if (isPastResults) return "a result behind other content";
        if (!open.delete(block.tool_use_id)) return `a result without its call: ${block.tool_use_id}`;
        if (block.content === "" || block.content.length === 0) return "an empty result";
      } else isPastResults = true;
      if (block.type === "text" && block.text.trim() === "") return "text content blocks must be non-empty";
      if (block.type === "thinking" && block.signature !== "s") return "a foreign signature";
      if (block.type === "tool_use") {
        if (!/^[a-zA-Z0-9_-]{1,64}$/.test(block.id) || seen.has(block.id)) return `a wrong id: ${block.id}`;
        seen.add(block.id);
      }
    }
    if (role === "user" && open.size) return "a call without a result";
    if (role === "assistant") open = new Set(content.filter((block: any) => block.type === "tool_use").map((block: any) => block.id));
  }
  return body.messages.at(-1).role === "user" ? undefined : "the last message is not the user's";
}

test("A strict server takes a conversation that was cut off, doubled and begun elsewhere", async () => {
  await using strict = await ModelServer.start((request) => {
    const fault = faultOf(request);
    return fault ? { status: 400, body: [JSON.stringify({ type: "error", error: { type: "invalid_request_error", message: fault } })] } : anthropic.answer("fine");
  });
  const messages: Message[] = [
    said(SPEC, [text("first")]),
    user("hi"),
    user(""),
    user("there"),
    said(SPEC, [text(""), { type: "thinking", thinking: "hm", thinkingSignature: "s" }, call("call.0"), call("call.0"), call("")]),
    result("call.0", "one"),
    user("steered"),
    result("stray"),
    said(SPEC, [text("half")], { stopReason: "error" }),
    user([text("see"), PNG]),
    said(specOf("openai-completions"), [{ type: "thinking", thinking: "hm", thinkingSignature: "reasoning" }, call("call|é".repeat(20))]),
    result("call|é".repeat(20), []),
    said(SPEC, [], { stopReason: "aborted" }),
  ];
  expect(told(await ask(strict.url, { ...API, request: { messages, tools: [TOOL], systemPrompt: "s" } }))).toEqual({ content: [text("fine")], stopReason: "stop" });
});
