import { afterAll, describe, expect, test } from "bun:test";
import { argumentFault } from "../../src/llm/tool-arguments.ts";
import type { ToolCall } from "../../src/llm/message.ts";
import { openai } from "../support/dialects.ts";
import { ModelServer, type Piece } from "../support/model-server.ts";
import { ask, told, type Ask } from "./ask.ts";

const server = await ModelServer.start();
afterAll(() => server.close());

async function play(pieces: readonly Piece[], options?: Ask) {
  server.script(() => [...pieces]);
  return ask(server.url, options);
}

/** Calls as name, id and arguments, with the fault if there is one. */
async function callsOf(...pieces: string[]) {
  const { message } = await play([openai.chunk({ role: "assistant", content: null }), ...pieces, openai.finish("tool_calls"), openai.done]);
  return message.content
    .filter((block): block is ToolCall => block.type === "toolCall")
    .map((call) => ({ id: call.id, name: call.name, arguments: call.arguments, ...(argumentFault(call) ? { fault: argumentFault(call) } : {}) }));
}
const entry = (fields: { index?: number; id?: string; name?: string; args?: unknown }) => ({
  ...(fields.index === undefined ? {} : { index: fields.index }),
  ...(fields.id === undefined ? {} : { id: fields.id, type: "function" }),
  function: { ...(fields.name === undefined ? {} : { name: fields.name }), ...(fields.args === undefined ? {} : { arguments: fields.args }) },
});
const ONE = { id: "a", name: "bash", arguments: { command: "echo one" } };
const TWO = { id: "b", name: "bash", arguments: { command: "echo two" } };
const one = '{"command":"echo one"}';
const two = '{"command":"echo two"}';

test("A text answer is told in deltas and given whole, with usage, cost and ids", async () => {
  const result = await play(openai.answer("Hel", "lo"), { model: { cost: { input: 1, output: 5 } } });
  expect(result.events).toEqual([
    { type: "text_start", contentIndex: 0 },
    { type: "text_delta", contentIndex: 0, delta: "Hel" },
    { type: "text_delta", contentIndex: 0, delta: "lo" },
    { type: "text_end", contentIndex: 0, content: "Hello" },
  ]);
  expect(result.message).toEqual({
    role: "assistant",
    content: [{ type: "text", text: "Hello" }],
    api: "openai-completions",
    provider: "p",
    model: "m",
    responseId: "chatcmpl-1",
    usage: { input: 10, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 12, cost: { input: 0.00001, output: 0.00001, cacheRead: 0, cacheWrite: 0, total: 0.00002 } },
    stopReason: "stop",
    rawStopReason: "stop",
    durationMs: expect.any(Number),
    timestamp: expect.any(Number),
  });
});

test("A call is told piece by piece, and ended before the text that follows it", async () => {
  const { events } = await play([
    openai.text("I look."),
    openai.calls(entry({ index: 0, id: "a", name: "bash", args: "" })),
    openai.calls(entry({ index: 0, args: '{"command":' })),
    openai.calls(entry({ index: 0, args: '"ls"}' })),
    openai.text("Done."),
    openai.finish("tool_calls"),
    openai.done,
  ]);
  expect(events).toEqual([
    { type: "text_start", contentIndex: 0 },
    { type: "text_delta", contentIndex: 0, delta: "I look." },
    { type: "text_end", contentIndex: 0, content: "I look." },
    { type: "toolcall_start", contentIndex: 1, id: "a", toolName: "bash" },
    { type: "toolcall_delta", contentIndex: 1, delta: '{"command":' },
    { type: "toolcall_delta", contentIndex: 1, delta: '"ls"}' },
    { type: "toolcall_end", contentIndex: 1, toolCall: { type: "toolCall", id: "a", name: "bash", arguments: { command: "ls" } } },
    { type: "text_start", contentIndex: 2 },
    { type: "text_delta", contentIndex: 2, delta: "Done." },
    { type: "text_end", contentIndex: 2, content: "Done." },
  ]);
});

describe("Tool calls stay apart and whole", () => {
  test("under one index, told apart by their ids", async () => {
    expect(await callsOf(openai.calls(entry({ index: 0, id: "a", name: "bash", args: one })), openai.calls(entry({ index: 0, id: "b", name: "bash", args: two })))).toEqual([ONE, TWO]);
  });

  test("under one index in pieces, each id in each piece", async () => {
    expect(
      await callsOf(
        openai.calls(entry({ index: 0, id: "a", name: "bash", args: one.slice(0, 9) })),
        openai.calls(entry({ index: 0, id: "a", name: "bash", args: one.slice(9) })),
        openai.calls(entry({ index: 0, id: "b", name: "bash", args: two.slice(0, 9) })),
        openai.calls(entry({ index: 0, id: "b", name: "bash", args: two.slice(9) })),
      ),
    ).toEqual([ONE, TWO]);
  });

  test("without any index", async () => {
    expect(
      await callsOf(
        openai.calls(entry({ id: "a", name: "bash", args: one.slice(0, 11) })),
        openai.calls(entry({ args: one.slice(11) })),
        openai.calls(entry({ id: "b", name: "bash", args: two })),
      ),
    ).toEqual([ONE, TWO]);
  });

  test("under indexes that jump, two in one chunk", async () => {
    expect(await callsOf(openai.calls(entry({ index: 0, id: "a", name: "bash", args: one }), entry({ index: 4, id: "b", name: "bash", args: two })))).toEqual([ONE, TWO]);
  });

  test("in pieces that alternate between two indexes", async () => {
    expect(
      await callsOf(
        openai.calls(entry({ index: 0, id: "a", name: "bash", args: one.slice(0, 5) }), entry({ index: 1, id: "b", name: "bash", args: two.slice(0, 5) })),
        openai.calls(entry({ index: 1, args: two.slice(5) }), entry({ index: 0, args: one.slice(5) })),
      ),
    ).toEqual([ONE, TWO]);
  });

  test("with arguments under another index than id and name", async () => {
    expect(await callsOf(openai.calls(entry({ index: 0, id: "a", name: "bash" })), openai.calls(entry({ index: 1, args: one.slice(0, 7) })), openai.calls(entry({ index: 1, args: one.slice(7) })))).toEqual([ONE]);
  });

  test("when two objects follow each other under one call", async () => {
    const [first, second, ...more] = await callsOf(openai.calls(entry({ index: 0, id: "a", name: "bash", args: one + two })));
    expect(more).toEqual([]);
    expect(first).toEqual(ONE);
    expect(second).toEqual({ ...TWO, id: expect.stringMatching(/^call_./) });
  });

  test("when a complete object is followed by another without id and index", async () => {
    const [first, second] = await callsOf(openai.calls(entry({ id: "a", name: "bash", args: one })), openai.calls(entry({ name: "bash", args: two })));
    expect([first, second]).toEqual([ONE, { ...TWO, id: expect.any(String) }]);
  });

  test("when two of them bear the same id", async () => {
    const [first, second] = await callsOf(openai.calls(entry({ index: 0, id: "a", name: "bash", args: one })), openai.calls(entry({ index: 1, id: "a", name: "bash", args: two })));
    expect(first).toEqual(ONE);
    expect(second).toEqual({ ...TWO, id: expect.stringMatching(/^call_./) });
  });

  test("when the id comes last", async () => {
    expect(await callsOf(openai.calls(entry({ index: 0, name: "bash", args: one })), openai.calls(entry({ index: 0, id: "a" })))).toEqual([ONE]);
  });

  test("when the name comes last", async () => {
    expect(await callsOf(openai.calls(entry({ index: 0, id: "a", args: one.slice(0, 4) })), openai.calls(entry({ index: 0, name: "bash", args: one.slice(4) })))).toEqual([ONE]);
  });

  test("when the name is in each piece and the id in none", async () => {
    const [only, ...more] = await callsOf(...[one.slice(0, 4), one.slice(4, 12), one.slice(12)].map((args) => openai.calls(entry({ index: 0, name: "bash", args }))));
    expect([only, more]).toEqual([{ ...ONE, id: expect.stringMatching(/^call_./) }, []]);
  });

  test("when ids are empty", async () => {
    const calls = await callsOf(openai.calls(entry({ index: 0, id: "", name: "bash", args: one })), openai.calls(entry({ index: 1, id: "", name: "bash", args: two })));
    expect(calls).toEqual([{ ...ONE, id: expect.stringMatching(/^call_./) }, { ...TWO, id: expect.stringMatching(/^call_./) }]);
    expect(calls[0]!.id).not.toBe(calls[1]!.id);
  });
});

describe("Arguments", () => {
  const argumentsOf = async (args: unknown) => {
    const [call] = await callsOf(openai.calls(entry({ index: 0, id: "a", name: "bash", args })));
    return call && { arguments: call.arguments, ...(call.fault ? { fault: call.fault } : {}) };
  };

  test("may be an object instead of text", async () => {
    expect(await argumentsOf({ command: "ls" })).toEqual({ arguments: { command: "ls" } });
  });
  test("may hold raw control characters", async () => {
    expect(await argumentsOf('{"command":"a\nb\tc\u0001"}')).toEqual({ arguments: { command: "a\nb\tc\u0001" } });
  });
  test("may be none at all", async () => {
    expect(await argumentsOf("")).toEqual({ arguments: {} });
    expect(await argumentsOf(undefined)).toEqual({ arguments: {} });
    expect(await argumentsOf(null)).toEqual({ arguments: {} });
  });
  test("may be encoded twice", async () => {
    expect(await argumentsOf(JSON.stringify('{"command":"ls"}'))).toEqual({ arguments: { command: "ls" } });
  });
  test("that were never closed are kept as far as they go, with their fault", async () => {
    expect(await argumentsOf('{"path":"x","command":"touch broken.txt')).toEqual({
      arguments: { path: "x", command: "touch broken.txt" },
      fault: "the arguments end in the middle of a string, after 39 characters",
    });
  });
  test("that are no object are none, with their fault", async () => {
    expect(await argumentsOf("[1,2]")).toEqual({ arguments: {}, fault: "the arguments are no JSON object" });
    expect(await argumentsOf("ls -l")).toEqual({ arguments: {}, fault: expect.stringContaining("unexpected") });
  });
});

describe("Reasoning", () => {
  const thinking = async (...deltas: object[]) => told(await play([...deltas.map((delta) => openai.chunk(delta)), openai.finish("stop"), openai.done]));

  for (const field of ["reasoning", "reasoning_content", "reasoning_text"]) {
    test(`in ${field} is thinking, signed with the field's name`, async () => {
      expect(await thinking({ [field]: "hm" }, { [field]: " hm" }, { content: "said" })).toEqual({
        content: [{ type: "thinking", thinking: "hm hm", thinkingSignature: field }, { type: "text", text: "said" }],
        stopReason: "stop",
      });
    });
  }

  test("in two fields at once is told once, and before the text of the same chunk", async () => {
    expect(await thinking({ reasoning: "hm", reasoning_content: "hm", content: "said" })).toEqual({
      content: [{ type: "thinking", thinking: "hm", thinkingSignature: "reasoning_content" }, { type: "text", text: "said" }],
      stopReason: "stop",
    });
  });

  test("between think tags at the beginning of the text is thinking, wherever the chunks cut", async () => {
    const whole = "\n<think>hm < 3</think>\n\nsaid <think>";
    const answer = { content: [{ type: "thinking", thinking: "hm < 3" }, { type: "text", text: "said <think>" }], stopReason: "stop" };
    expect(await thinking({ content: whole })).toEqual(answer);
    expect(await thinking(...[...whole].map((content) => ({ content })))).toEqual(answer);
  });

  test("that is only begun like a tag is text", async () => {
    expect(await thinking({ content: "<thi" }, { content: "s is a text" })).toEqual({ content: [{ type: "text", text: "<this is a text" }], stopReason: "stop" });
    expect(await thinking({ content: "<" })).toEqual({ content: [{ type: "text", text: "<" }], stopReason: "stop" });
  });

  test("in content parts is thinking", async () => {
    expect(await thinking({ content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }] }, { content: [{ type: "text", text: "said" }] })).toEqual({
      content: [{ type: "thinking", thinking: "hm" }, { type: "text", text: "said" }],
      stopReason: "stop",
    });
  });

  test("in reasoning_details is kept as the signature of its block", async () => {
    const result = await thinking(
      { reasoning: "hm ", reasoning_details: [{ type: "reasoning.text", text: "hm ", index: 0 }] },
      { reasoning: "ah", reasoning_details: [{ type: "reasoning.text", text: "ah", signature: "sig", index: 0 }] },
      { content: "said" },
      { reasoning_details: [{ type: "reasoning.encrypted", data: "AAA", id: "r1" }] },
    );
    expect(result).toEqual({
      content: [
        { type: "thinking", thinking: "hm ah", thinkingSignature: JSON.stringify([{ type: "reasoning.text", text: "hm ah", index: 0, signature: "sig" }, { type: "reasoning.encrypted", data: "AAA", id: "r1" }]) },
        { type: "text", text: "said" },
      ],
      stopReason: "stop",
    });
  });
});

describe("Usage", () => {
  const usageOf = async (...pieces: string[]) => {
    const { message } = await play([openai.text("x"), ...pieces, openai.done]);
    const { cost: _, ...counts } = message.usage;
    return counts;
  };
  const finish = openai.finish("stop");
  const counted = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
  const COUNTS = { input: 7, output: 3, cacheRead: 0, cacheWrite: 0, totalTokens: 10 };

  test("may come in the last chunk, after a null", async () => {
    expect(await usageOf(openai.chunk({ content: "y" }).replace("}]}", '}],"usage":null}'), finish, openai.usage(counted))).toEqual(COUNTS);
  });
  test("may come in the choice", async () => {
    expect(await usageOf(openai.chunk({}, { finish_reason: "stop", usage: counted }))).toEqual(COUNTS);
  });
  test("may be missing or no numbers", async () => {
    const nothing = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };
    expect(await usageOf(finish)).toEqual(nothing);
    expect(await usageOf(finish, openai.usage({ prompt_tokens: null, completion_tokens: "many", prompt_tokens_details: null }))).toEqual(nothing);
  });
  test("tells what was read from and written to caches, and what was reasoning", async () => {
    const details = { prompt_tokens: 100, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 }, completion_tokens_details: { reasoning_tokens: 4 } };
    expect(await usageOf(finish, openai.usage(details))).toEqual({ input: 30, output: 9, cacheRead: 60, cacheWrite: 10, reasoning: 4, totalTokens: 109 });
    expect(await usageOf(finish, openai.usage({ prompt_tokens: 100, completion_tokens: 9, prompt_cache_hit_tokens: 60 }))).toEqual({ input: 40, output: 9, cacheRead: 60, cacheWrite: 0, totalTokens: 109 });
  });
});

describe("The end of an answer", () => {
  const end = async (pieces: string[], options?: Ask) => told(await play(pieces, options));
  const x = { content: [{ type: "text", text: "x" }] };

  test("without a finish reason is its [DONE]", async () => {
    expect(await end([openai.text("x"), openai.done])).toEqual({ ...x, stopReason: "stop" });
  });
  test("is not waited for once [DONE] has come", async () => {
    server.script({ body: openai.answer("x"), end: "hang" });
    expect(told(await ask(server.url))).toEqual({ ...x, stopReason: "stop" });
  });
  test("without finish reason and [DONE] is a lost connection, unless the server is known for it", async () => {
    expect(await end([openai.text("x")])).toEqual({ ...x, stopReason: "error", failure: "network", says: "The server ended its answer before it was complete." });
    expect(await end([openai.text("x")], { model: { compat: { supportsFinishReason: false } } })).toEqual({ ...x, stopReason: "stop" });
  });
  test("of an answer that says nothing at all is a failure, but an empty one with its reason is an answer", async () => {
    expect(await end([openai.done])).toEqual({ content: [], stopReason: "error", failure: "server", says: "The server ended its answer without saying anything." });
    expect(await end([openai.finish("stop"), openai.done])).toEqual({ content: [], stopReason: "stop" });
  });
  test("may lack its last blank line", async () => {
    expect(await end([openai.text("x"), openai.finish("stop").trimEnd()])).toEqual({ ...x, stopReason: "stop" });
  });
  test("by length inside a call leaves the call with its fault", async () => {
    const { message } = await play([openai.calls(entry({ index: 0, id: "a", name: "bash", args: '{"command":"ec' })), openai.finish("length"), openai.done]);
    expect(told({ message })).toEqual({ content: [{ type: "toolCall", id: "a", name: "bash", arguments: { command: "ec" } }], stopReason: "length" });
    expect(argumentFault(message.content[0] as ToolCall)).toMatch(/middle of a string/);
  });
  test("with calls is toolUse though the server says stop, and stop without any though it says tool_calls", async () => {
    expect((await play([openai.call(0, "a", "bash", {}), openai.finish("stop"), openai.done])).message.stopReason).toBe("toolUse");
    expect((await play([openai.text("x"), openai.finish("tool_calls"), openai.done])).message.stopReason).toBe("stop");
  });
  test("by a content filter is a refusal", async () => {
    expect(await end([openai.text("x"), openai.finish("content_filter"), openai.done])).toMatchObject({ ...x, stopReason: "error", failure: "refusal" });
  });
  test("by an error of the provider is a failure that is tried again", async () => {
    expect(await end([openai.text("x"), openai.finish("network_error"), openai.done])).toMatchObject({ ...x, stopReason: "error", failure: "server" });
  });
  test("by an error object keeps what came", async () => {
    expect(await end([openai.text("x"), openai.error({ message: "it broke", type: "server_error" })])).toEqual({ ...x, stopReason: "error", failure: "server", says: "it broke" });
    expect(await end([openai.text("x"), openai.error({ code: 429, message: "slow down" })])).toEqual({ ...x, stopReason: "error", failure: "rate_limit", says: "429 slow down" });
  });
  test("by a broken connection keeps what came", async () => {
    const seen = Promise.withResolvers<void>();
    server.script(() => ({ body: [openai.text("x"), openai.text("y"), seen.promise], end: "reset" }));
    expect(told(await ask(server.url, { onEvent: (event) => "delta" in event && event.delta === "y" && seen.resolve() }))).toEqual({ content: [{ type: "text", text: "xy" }], stopReason: "error", failure: "network", says: `The connection to ${server.url} was lost in the middle of the answer.` });
  });
  test("by an event that is no JSON is a failure", async () => {
    expect(await end([openai.text("x"), "data: {this is not json\n\n"])).toMatchObject({ ...x, stopReason: "error", failure: "server" });
  });
});

test("A server that does not stream gives its answer at once", async () => {
  const message = { role: "assistant", content: "whole", tool_calls: [{ id: "a", type: "function", function: { name: "bash", arguments: one } }] };
  server.script({ headers: { "content-type": "application/json" }, body: [JSON.stringify({ id: "c", choices: [{ index: 0, message, finish_reason: "tool_calls" }], usage: { prompt_tokens: 1, completion_tokens: 2 } }, null, 2)] });
  expect(told(await ask(server.url))).toEqual({ content: [{ type: "text", text: "whole" }, { type: "toolCall", ...ONE }], stopReason: "toolUse" });
});

test("An error with a good status is a failure all the same", async () => {
  server.script({ headers: { "content-type": "application/json" }, body: [JSON.stringify({ error: { message: "no such model", type: "invalid_request_error" } })] });
  expect(told(await ask(server.url))).toMatchObject({ stopReason: "error", says: "no such model" });
});

test("A web page with a good status is told as what it is", async () => {
  server.script({ headers: { "content-type": "text/html" }, body: ["<html><head><title>Log in</title></head></html>"] });
  expect(told(await ask(server.url))).toMatchObject({ stopReason: "error", says: expect.stringContaining("Log in") });
});
