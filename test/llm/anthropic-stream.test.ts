import { afterAll, describe, expect, test } from "bun:test";
import type { ToolCall } from "../../src/llm/message.ts";
import { argumentFault } from "../../src/llm/tool-arguments.ts";
import { anthropic } from "../support/dialects.ts";
import { ModelServer, type Piece } from "../support/model-server.ts";
import { ask, told, type Ask } from "./ask.ts";

const server = await ModelServer.start();
afterAll(() => server.close());

async function play(pieces: readonly Piece[], options?: Ask) {
  server.script(() => [...pieces]);
  return ask(server.url, { api: "anthropic-messages", ...options });
}

test("An answer of thinking, text and a call is told in deltas and given whole", async () => {
  const result = await play([
    anthropic.start({ input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 100, cache_creation_input_tokens: 7 }, "m-2026"),
    anthropic.event("ping"),
    ...anthropic.thinkingBlock(0, "hm", "sig"),
    ...anthropic.textBlock(1, "I ", "look."),
    ...anthropic.toolBlock(2, "toolu_1", "bash", "", '{"command":', '"ls"}'),
    ...anthropic.stop("tool_use", { output_tokens: 20, output_tokens_details: { thinking_tokens: 5 } }),
  ], { model: { reasoning: true, cost: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 } } });
  const content = [
    { type: "thinking", thinking: "hm", thinkingSignature: "sig" },
    { type: "text", text: "I look." },
    { type: "toolCall", id: "toolu_1", name: "bash", arguments: { command: "ls" } },
  ];
  expect(result.events).toEqual([
    { type: "thinking_start", contentIndex: 0 },
    { type: "thinking_delta", contentIndex: 0, delta: "hm" },
    { type: "thinking_end", contentIndex: 0, content: "hm" },
    { type: "text_start", contentIndex: 1 },
    { type: "text_delta", contentIndex: 1, delta: "I " },
    { type: "text_delta", contentIndex: 1, delta: "look." },
    { type: "text_end", contentIndex: 1, content: "I look." },
    { type: "toolcall_start", contentIndex: 2, id: "toolu_1", toolName: "bash" },
    { type: "toolcall_delta", contentIndex: 2, delta: '{"command":' },
    { type: "toolcall_delta", contentIndex: 2, delta: '"ls"}' },
    { type: "toolcall_end", contentIndex: 2, toolCall: content[2] as ToolCall },
  ]);
  expect(result.message).toEqual({
    role: "assistant",
    content: content as never,
    api: "anthropic-messages",
    provider: "p",
    model: "m",
    responseModel: "m-2026",
    responseId: "msg_1",
    usage: { input: 10, output: 20, cacheRead: 100, cacheWrite: 7, reasoning: 5, totalTokens: 137, cost: { input: 10e-6, output: 20e-6, cacheRead: 100e-6, cacheWrite: 7e-6, total: expect.closeTo(137e-6, 12) } },
    stopReason: "toolUse",
    rawStopReason: "tool_use",
    thinkingLevel: "off",
    durationMs: expect.any(Number),
    timestamp: expect.any(Number),
  });
});

describe("Blocks", () => {
  const blocks = async (...pieces: string[]) => told(await play([anthropic.start(), ...pieces, ...anthropic.stop("end_turn")]));

  test("of redacted thinking keep only what is given back", async () => {
    expect(await blocks(anthropic.begin(0, { type: "redacted_thinking", data: "AAAA" }), anthropic.end(0), ...anthropic.textBlock(1, "x"))).toEqual({
      content: [{ type: "thinking", thinking: "", thinkingSignature: "AAAA", redacted: true }, { type: "text", text: "x" }],
      stopReason: "stop",
    });
  });
  test("of thinking may hold nothing but a signature, in pieces", async () => {
    const sign = (signature: string) => anthropic.delta(0, { type: "signature_delta", signature });
    expect(await blocks(anthropic.begin(0, { type: "thinking", thinking: "" }), sign("ab"), sign("cd"), anthropic.end(0), ...anthropic.textBlock(1, "x"))).toEqual({
      content: [{ type: "thinking", thinking: "", thinkingSignature: "abcd" }, { type: "text", text: "x" }],
      stopReason: "stop",
    });
  });
  test("of text that follow each other stay apart", async () => {
    expect(await blocks(...anthropic.textBlock(0, "a"), ...anthropic.textBlock(1, "b"))).toEqual({ content: [{ type: "text", text: "a" }, { type: "text", text: "b" }], stopReason: "stop" });
  });
  test("without anything in them are none", async () => {
    expect(await blocks(...anthropic.textBlock(0), ...anthropic.textBlock(1, "b"))).toEqual({ content: [{ type: "text", text: "b" }], stopReason: "stop" });
  });
  test("may begin with their text, or never be begun or ended", async () => {
    expect(await blocks(anthropic.begin(0, { type: "text", text: "a" }), anthropic.delta(7, { type: "text_delta", text: "b" }))).toEqual({ content: [{ type: "text", text: "ab" }], stopReason: "stop" });
  });
  test("of kinds that nobody knows are passed over", async () => {
    expect(await blocks(anthropic.begin(0, { type: "hologram" }), anthropic.delta(0, { type: "hologram_delta" }), anthropic.end(0), anthropic.event("novelty"), ...anthropic.textBlock(1, "x"))).toEqual({
      content: [{ type: "text", text: "x" }],
      stopReason: "stop",
    });
  });
});

describe("Calls", () => {
  const callsOf = async (...pieces: string[]) => (await play([anthropic.start(), ...pieces, ...anthropic.stop("tool_use")])).message.content.filter((block) => block.type === "toolCall");
  const call = (id: string, args: object) => ({ type: "toolCall", id, name: "bash", arguments: args }) as never;

  test("may have their arguments in the beginning of the block", async () => {
    expect(await callsOf(anthropic.begin(0, { type: "tool_use", id: "a", name: "bash", input: { command: "ls" } }), anthropic.end(0))).toEqual([call("a", { command: "ls" })]);
  });
  test("may have none", async () => {
    expect(await callsOf(...anthropic.toolBlock(0, "a", "bash"))).toEqual([call("a", {})]);
  });
  test("with empty or equal ids get ids of their own", async () => {
    const calls = await callsOf(...anthropic.toolBlock(0, "", "bash", "{}"), ...anthropic.toolBlock(1, "a", "bash", "{}"), ...anthropic.toolBlock(2, "a", "bash", "{}"));
    expect(calls).toEqual([call(expect.stringMatching(/^toolu_./), {}), call("a", {}), call(expect.stringMatching(/^toolu_./), {})]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(3);
  });
  test("may come in pieces that alternate", async () => {
    const piece = (index: number, partial_json: string) => anthropic.delta(index, { type: "input_json_delta", partial_json });
    const begin = (index: number, id: string) => anthropic.begin(index, { type: "tool_use", id, name: "bash", input: {} });
    expect(await callsOf(begin(0, "a"), begin(1, "b"), piece(1, '{"n":'), piece(0, '{"n":1}'), piece(1, "2}"), anthropic.end(1), anthropic.end(0))).toEqual([call("a", { n: 1 }), call("b", { n: 2 })]);
  });
  test("with raw control characters are read, and those never closed are kept with their fault", async () => {
    const [raw, cut] = await callsOf(...anthropic.toolBlock(0, "a", "bash", '{"command":"a\nb"}'), ...anthropic.toolBlock(1, "b", "bash", '{"command":"a'));
    expect([raw!, argumentFault(raw!)]).toEqual([call("a", { command: "a\nb" }), undefined]);
    expect([cut!, argumentFault(cut!)]).toEqual([call("b", { command: "a" }), "the arguments end in the middle of a string, after 13 characters"]);
  });
});

describe("The end of an answer", () => {
  const end = async (pieces: readonly string[]) => told(await play([anthropic.start(), ...anthropic.textBlock(0, "x"), ...pieces]));
  const x = { content: [{ type: "text", text: "x" }] };

  for (const [word, reason] of [["end_turn", "stop"], ["stop_sequence", "stop"], ["pause_turn", "stop"], ["max_tokens", "length"], ["model_context_window_exceeded", "length"], ["some_new_word", "stop"]]) {
    test(`by ${word} is ${reason}`, async () => expect(await end(anthropic.stop(word!))).toEqual({ ...x, stopReason: reason }));
  }
  test("by a full context without any content is an overflow", async () => {
    expect(told(await play([anthropic.start(), ...anthropic.stop("model_context_window_exceeded")]))).toMatchObject({ content: [], stopReason: "error", failure: "overflow" });
  });
  test("by a refusal tells the provider's explanation", async () => {
    const refused = anthropic.event("message_delta", { delta: { stop_reason: "refusal", stop_details: { explanation: "not this" } } });
    expect(await end([refused, anthropic.event("message_stop")])).toEqual({ ...x, stopReason: "error", failure: "refusal", says: "not this" });
  });
  test("by an error event keeps what came", async () => {
    expect(await end([anthropic.error("overloaded_error", "Overloaded")])).toEqual({ ...x, stopReason: "error", failure: "overloaded", says: "Overloaded" });
    expect(await end([anthropic.error("api_error", "broke")])).toEqual({ ...x, stopReason: "error", failure: "server", says: "broke" });
    expect(await end([anthropic.error("rate_limit_error", "slow down")])).toEqual({ ...x, stopReason: "error", failure: "rate_limit", says: "slow down" });
    expect(await end([anthropic.error("invalid_request_error", "prompt is too long: 30 tokens > 20 maximum")])).toMatchObject({ failure: "overflow" });
  });
  test("without a reason is message_stop; without both it is a lost connection", async () => {
    expect(await end([anthropic.event("message_stop")])).toEqual({ ...x, stopReason: "stop" });
    expect(await end([])).toEqual({ ...x, stopReason: "error", failure: "network", says: "The server ended its answer before it was complete." });
  });
  test("is not waited for once message_stop has come", async () => {
    server.script({ body: anthropic.answer("x"), end: "hang" });
    expect(told(await ask(server.url, { api: "anthropic-messages" }))).toEqual({ ...x, stopReason: "stop" });
  });
  test("may be [DONE], and events need no names", async () => {
    const pieces = [...anthropic.answer("x"), "data: [DONE]\n\n"].map((piece) => piece.replace(/^event: .*\n/, ""));
    expect(told(await play(pieces))).toEqual({ ...x, stopReason: "stop" });
  });
});

describe("Usage", () => {
  const counts = async (start: object, end: object) => {
    const { message } = await play([anthropic.start(start), ...anthropic.textBlock(0, "x"), ...anthropic.stop("end_turn", end)]);
    const { cost: _, ...usage } = message.usage;
    return usage;
  };
  test("of the end adds to that of the beginning, and zeros take nothing back", async () => {
    expect(await counts({ input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 5 }, { input_tokens: 0, output_tokens: 3, cache_read_input_tokens: null })).toEqual({ input: 10, output: 3, cacheRead: 5, cacheWrite: 0, totalTokens: 18 });
  });
  test("may come only at the end, or not at all", async () => {
    expect(await counts({}, { input_tokens: 10, output_tokens: 3 })).toEqual({ input: 10, output: 3, cacheRead: 0, cacheWrite: 0, totalTokens: 13 });
    expect(await counts({}, {})).toEqual({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 });
  });
});

test("A server that does not stream gives its answer at once", async () => {
  const message = { type: "message", id: "msg_1", model: "m", content: [{ type: "text", text: "x" }, { type: "tool_use", id: "a", name: "bash", input: { command: "ls" } }], stop_reason: "tool_use", usage: { input_tokens: 1, output_tokens: 2 } };
  server.script({ headers: { "content-type": "application/json" }, body: [JSON.stringify(message)] });
  expect(told(await ask(server.url, { api: "anthropic-messages" }))).toEqual({ content: [{ type: "text", text: "x" }, { type: "toolCall", id: "a", name: "bash", arguments: { command: "ls" } }], stopReason: "toolUse" });
});
