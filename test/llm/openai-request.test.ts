import { afterAll, describe, expect, test } from "bun:test";
import type { Message } from "../../src/llm/message.ts";
import type { ThinkingLevel } from "../../src/llm/model.ts";
import { openai } from "../support/dialects.ts";
import { ModelServer, type Served } from "../support/model-server.ts";
import { ask, told, user, type Ask } from "./ask.ts";
import { call, PNG, result, said, specOf, TOOL } from "./transcript.ts";

const server = await ModelServer.start(openai.answer("x"));
afterAll(() => server.close());

async function bodyOf(options: Ask = {}): Promise<any> {
  await ask(server.url, options);
  return server.last.body;
}
const SPEC = specOf("openai-completions");
const messagesOf = async (messages: Message[], options: Ask = {}) => (await bodyOf({ ...options, request: { messages, ...options.request } })).messages;
const text = (words: string) => ({ type: "text" as const, text: words });

test("A request asks no more of a server than every server takes", async () => {
  expect(await bodyOf({ request: { systemPrompt: "Be brief.", tools: [TOOL], sessionId: "s" } })).toEqual({
    model: "m",
    messages: [{ role: "system", content: "Be brief." }, { role: "user", content: "hi" }],
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: 8000,
    tools: [{ type: "function", function: { name: "bash", description: "Runs a command.", parameters: TOOL.parameters } }],
  });
  expect(server.last.path).toBe("/v1/chat/completions");
  expect(server.last.headers).toMatchObject({ authorization: "Bearer sk-test-key-0123", "content-type": "application/json" });
});

test("A bound that nobody named is not sent, and one of the request is", async () => {
  expect(await bodyOf({ model: { maxTokens: 0 } })).not.toHaveProperty("max_tokens");
  expect(await bodyOf({ request: { maxTokens: 100 } })).toMatchObject({ max_tokens: 100 });
});

test("The bound leaves room for what is sent", async () => {
  const messages = [user("x".repeat(35_000))];
  expect(await bodyOf({ model: { contextWindow: 20_000, maxTokens: 20_000 }, request: { messages } })).toMatchObject({ max_tokens: 20_000 - 10_000 - 4096 });
  expect(await bodyOf({ model: { contextWindow: 12_000, maxTokens: 12_000 }, request: { messages } })).toMatchObject({ max_tokens: 4096 });
});

test("OpenAI itself gets its own fields", async () => {
  // A part of the address decides, so the path of the server here will do.
  const body = await bodyOf({ provider: { baseUrl: `${server.url}/api.openai.com/v1` }, model: { reasoning: true }, request: { systemPrompt: "Be brief.", sessionId: "s", thinkingLevel: "low" } });
  expect(body).toMatchObject({ messages: [{ role: "developer" }, {}], store: false, max_completion_tokens: 8000, prompt_cache_key: "s", reasoning_effort: "low" });
  expect(body).not.toHaveProperty("max_tokens");
});

describe("Messages", () => {
  test("of a turn with calls", async () => {
    expect(await messagesOf([user("hi"), said(SPEC, [text("I "), text("look."), call("a", { command: "ls" })]), result("a", "files")])).toEqual([
      { role: "user", content: "hi" },
      { role: "assistant", content: "I look.", tool_calls: [{ id: "a", type: "function", function: { name: "bash", arguments: '{"command":"ls"}' } }] },
      { role: "tool", tool_call_id: "a", content: "files" },
    ]);
    expect((await messagesOf([user("hi"), said(SPEC, [call("a")]), result("a", "files")]))[1].content).toBeNull();
  });
  test("of the user that follow each other stay apart, unless the server wants roles to alternate", async () => {
    const messages = [user("a"), user([text("b"), text("c")])];
    expect(await messagesOf(messages)).toEqual([{ role: "user", content: "a" }, { role: "user", content: [text("b"), text("c")] }]);
    const joined = [{ role: "user", content: [text("a"), text("b"), text("c")] }];
    expect(await messagesOf(messages, { model: { compat: { requiresAlternatingRoles: true } } })).toEqual(joined);
    expect(await messagesOf(messages, { request: { joinsUsers: true } })).toEqual(joined);
    expect(await messagesOf([user([text("a")])])).toEqual([{ role: "user", content: "a" }]);
  });
  test("with images, those of results in a message of the user behind them all", async () => {
    const image = { type: "image_url", image_url: { url: `data:image/png;base64,${PNG.data}` } };
    const messages = await messagesOf([user([text("see"), PNG]), said(SPEC, [call("a"), call("b")]), result("a", [PNG]), result("b", [text("two"), PNG]), user("and?")], { model: { input: ["text", "image"] } });
    expect(messages[0]).toEqual({ role: "user", content: [text("see"), image] });
    expect(messages.slice(2)).toEqual([
      { role: "tool", tool_call_id: "a", content: "(see the image below)" },
      { role: "tool", tool_call_id: "b", content: "two" },
      { role: "user", content: [text("Images of the tool results above:"), image, image] },
      { role: "user", content: "and?" },
    ]);
  });
  test("give reasoning back under its name, reasoning details as they came, and none of think tags", async () => {
    const assistant = async (signature?: string) => (await messagesOf([user("hi"), said(SPEC, [{ type: "thinking", thinking: "hm", ...(signature ? { thinkingSignature: signature } : {}) }, text("x")]), user("y")]))[1];
    expect(await assistant("reasoning_content")).toEqual({ role: "assistant", content: "x", reasoning_content: "hm" });
    expect(await assistant('[{"type":"reasoning.encrypted","data":"A"}]')).toEqual({ role: "assistant", content: "x", reasoning_details: [{ type: "reasoning.encrypted", data: "A" }] });
    expect(await assistant()).toEqual({ role: "assistant", content: "x" });
  });
});

describe("Thinking", () => {
  const SAID = { model: "m", messages: expect.anything(), stream: true, stream_options: expect.anything(), max_tokens: expect.anything() };
  const fields = async (thinkingLevel: ThinkingLevel, model: Ask["model"] = {}) => {
    const body = await bodyOf({ model: { reasoning: true, ...model }, request: { thinkingLevel } });
    return Object.fromEntries(Object.entries(body).filter(([name]) => !(name in SAID)));
  };
  const format = (thinkingFormat: string, more: object = {}) => ({ compat: { thinkingFormat, ...more } });

  test("is an effort by the model's map", async () => {
    expect(await fields("high")).toEqual({ reasoning_effort: "high" });
    expect(await fields("xhigh", { thinkingLevelMap: { xhigh: "very-high" } })).toEqual({ reasoning_effort: "very-high" });
    expect(await fields("off")).toEqual({});
    expect(await fields("off", { thinkingLevelMap: { off: "none" } })).toEqual({ reasoning_effort: "none" });
    expect(await fields("high", { reasoning: false })).toEqual({});
    expect(await fields("high", { compat: { supportsReasoningEffort: false } })).toEqual({});
  });
  test("is asked for in the server's own format", async () => {
    const both = async (name: string, more?: object) => [await fields("low", format(name, more)), await fields("off", format(name, more))];
    expect(await both("openrouter")).toEqual([{ reasoning: { effort: "low" } }, { reasoning: { effort: "none" } }]);
    expect(await both("deepseek")).toEqual([{ thinking: { type: "enabled" }, reasoning_effort: "low" }, { thinking: { type: "disabled" } }]);
    expect(await both("zai")).toEqual([{ thinking: { type: "enabled", clear_thinking: false }, reasoning_effort: "low" }, { thinking: { type: "disabled" } }]);
    expect(await both("together")).toEqual([{ reasoning: { enabled: true }, reasoning_effort: "low" }, { reasoning: { enabled: false } }]);
    expect(await both("qwen")).toEqual([{ enable_thinking: true, reasoning_effort: "low" }, { enable_thinking: false }]);
    expect(await both("qwen-chat-template")).toEqual([{ chat_template_kwargs: { enable_thinking: true, preserve_thinking: true } }, { chat_template_kwargs: { enable_thinking: false, preserve_thinking: true } }]);
    expect(await both("string-thinking")).toEqual([{ thinking: "low" }, { thinking: "none" }]);
    const chatTemplateKwargs = { on: { $var: "thinking.enabled" }, effort: { $var: "thinking.effort" }, budget: { $var: "thinking.budget", omitWhenOff: true }, fixed: 1 };
    expect(await both("chat-template", { chatTemplateKwargs })).toEqual([{ chat_template_kwargs: { on: true, effort: "low", budget: 2048, fixed: 1 } }, { chat_template_kwargs: { on: false, fixed: 1 } }]);
    expect(await both("ant-ling")).toEqual([{}, {}]);
  });
  test("may have a budget that leaves room for the answer", async () => {
    expect(await fields("high", { maxTokens: 9000, compat: { thinkingTokenBudgetField: "thinking_budget" } })).toEqual({ reasoning_effort: "high", thinking_budget: 9000 - 1024 });
  });
});

describe("A server's switches", () => {
  const history: Message[] = [user("hi"), said(SPEC, [{ type: "thinking", thinking: "hm" }, call("a")]), result("a", "files"), user("and?")];
  const sent = async (compat: Record<string, unknown>, messages = history) => bodyOf({ model: { reasoning: true, compat }, request: { messages, systemPrompt: "s", sessionId: "s" } });

  test("change the names and roles it wants", async () => {
    expect(await sent({ maxTokensField: "max_completion_tokens", supportsStore: true, supportsDeveloperRole: true })).toMatchObject({ max_completion_tokens: 8000, store: false, messages: [{ role: "developer" }, {}, {}, {}, {}] });
    expect(await sent({ supportsUsageInStreaming: false })).not.toHaveProperty("stream_options");
    expect(await sent({ requiresToolResultName: true })).toMatchObject({ messages: [{}, {}, {}, { name: "bash" }, {}] });
    expect(await sent({ requiresToolsWithToolHistory: true })).toMatchObject({ tools: [] });
  });
  test("change what the answers look like", async () => {
    expect((await sent({ requiresNonNullAssistantContent: true })).messages[2].content).toBe("");
    expect((await sent({ requiresThinkingAsText: true })).messages[2].content).toBe("hm");
    expect((await sent({ requiresReasoningContentOnAssistantMessages: true })).messages[2].reasoning_content).toBe("");
    expect((await sent({ requiresAssistantAfterToolResult: true })).messages.map(({ role }: { role: string }) => role)).toEqual(["system", "user", "assistant", "tool", "assistant", "user"]);
  });
  test("route and cache", async () => {
    expect(await sent({ openRouterRouting: { only: ["x"] }, vercelGatewayRouting: { order: ["y"] }, vllmPriority: 5, promptCacheKeyMode: "enabled" })).toMatchObject({ provider: { only: ["x"] }, providerOptions: { gateway: { order: ["y"] } }, priority: 5, prompt_cache_key: "s" });
    const marked = await bodyOf({ model: { compat: { cacheControlFormat: "anthropic" } }, request: { systemPrompt: "s", tools: [TOOL] } });
    const mark = { cache_control: { type: "ephemeral" } };
    expect([marked.messages, marked.tools[0].cache_control]).toEqual([[{ role: "system", content: [{ ...text("s"), ...mark }] }, { role: "user", content: [{ ...text("hi"), ...mark }] }], mark.cache_control]);
  });
  test("tell which session it is", async () => {
    await sent({ sendSessionAffinityHeaders: true });
    expect(server.last.headers).toMatchObject({ session_id: "s", "x-session-affinity": "s", "x-client-request-id": "s" });
  });
});

test("The user's headers replace the adapter's, and without a key none is sent", async () => {
  await ask(server.url, { provider: { headers: { Authorization: "Basic x" } } });
  expect(server.last.headers.authorization).toBe("Basic x");
  await ask(server.url, { provider: { apiKey: "" } });
  expect(server.last.headers).not.toHaveProperty("authorization");
});

/** Refuses what strict servers refuse. */
function faultOf({ body }: Served): string | undefined {
  const fields = ["model", "messages", "stream", "stream_options", "max_tokens", "tools"];
  const extra = Object.keys(body).find((name) => !fields.includes(name));
  if (extra) return `unknown field ${extra}`;
  const seen = new Set<string>();
  let open: string[] = [];
  let before = "";
  for (const message of body.messages) {
    const { role } = message;
    if (!["system", "user", "assistant", "tool"].includes(role)) return `unknown role ${role}`;
    if (role === "tool") {
      if (message.tool_call_id !== open.shift()) return "a result out of order";
      if (typeof message.content !== "string" || message.content === "") return "an empty result";
    } else if (open.length) return "a call without a result";
    if (role === before && role !== "tool") return `two messages of ${role}`;
    if (role !== "tool" && !message.tool_calls && (!message.content || message.content.length === 0)) return "an empty message";
    for (const { id } of message.tool_calls ?? []) {
      if (!/^[\w-]{1,40}$/.test(id) || seen.has(id)) return `a wrong id ${id}`;
      seen.add(id);
      open.push(id);
    }
    before = role;
  }
  return open.length ? "a call without a result" : undefined;
}

test("A strict server takes a conversation that was cut off, doubled and begun elsewhere", async () => {
  await using strict = await ModelServer.start((request) => {
    const fault = faultOf(request);
    return fault ? { status: 400, body: [JSON.stringify({ error: { message: fault } })] } : openai.answer("fine");
  });
  const messages: Message[] = [
    user("hi"),
    user(""),
    user("there"),
    said(SPEC, [text(""), call("call_0"), call("call_0"), call("")]),
    result("call_0", "one"),
    user("steered"),
    result("stray"),
    said(SPEC, [text("half")], { stopReason: "error" }),
    user([text("see"), PNG]),
    said(specOf("anthropic-messages"), [{ type: "thinking", thinking: "hm", thinkingSignature: "s" }, call("toolu|é".repeat(20))]),
    result("toolu|é".repeat(20), []),
    said(SPEC, [], { stopReason: "aborted" }),
  ];
  expect(told(await ask(strict.url, { model: { compat: { requiresAlternatingRoles: true } }, request: { messages, tools: [TOOL], systemPrompt: "s" } }))).toEqual({ content: [text("fine")], stopReason: "stop" });
});
