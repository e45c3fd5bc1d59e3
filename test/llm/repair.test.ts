import { describe, expect, test } from "bun:test";
import type { AssistantMessage, Message } from "../../src/llm/message.ts";
import type { ModelSpec } from "../../src/llm/model.ts";
import { repair } from "../../src/llm/repair.ts";
import { user } from "./ask.ts";
import { call, PNG, result, said, specOf } from "./transcript.ts";

const OPENAI = specOf("openai-completions");
const ANTHROPIC = specOf("anthropic-messages");
const SEEING = specOf("openai-completions", { input: ["text", "image"] });

const repaired = (messages: Message[], spec: ModelSpec = OPENAI) => [...repair({ systemPrompt: "", messages, tools: [], thinkingLevel: "off" }, spec).messages];
const text = (words: string) => ({ type: "text" as const, text: words });
const interrupted = (id: string) => result(id, "No result: the call was interrupted before it ended.", { isError: true, timestamp: 2 });

test("What needs no repair is passed on as it is", () => {
  const messages = [user("hi"), said(OPENAI, [text("look"), call("a")]), result("a"), said(OPENAI, [text("done")]), user("more")];
  expect(repaired(messages)).toEqual(messages);
});

test("The transcript itself is not changed", () => {
  const messages = [user([text(""), PNG]), said(OPENAI, [text(" "), call("")]), said(OPENAI, [text("x")])];
  const before = structuredClone(messages);
  repaired(messages);
  expect(messages).toEqual(before);
});

describe("Every call has one result right behind it", () => {
  test("a made-up one where it was cut off", () => {
    const calls = said(OPENAI, [call("a"), call("b")]);
    expect(repaired([user("hi"), calls, result("b"), user("go on")])).toEqual([user("hi"), calls, interrupted("a"), result("b"), user("go on")]);
    expect(repaired([user("hi"), calls])).toEqual([user("hi"), calls, interrupted("a"), interrupted("b")]);
  });
  test("in the order of the calls, before what came between", () => {
    const calls = said(OPENAI, [call("a"), call("b")]);
    expect(repaired([calls, result("b"), user("steer"), result("a")])).toEqual([calls, result("a"), result("b"), user("steer")]);
  });
  test("and no second one, nor one without a call", () => {
    const calls = said(OPENAI, [call("a")]);
    expect(repaired([result("z"), calls, result("a", "first"), result("a", "second"), result("y"), user("x")])).toEqual([calls, result("a", "first"), user("x")]);
  });
  test("of its own turn, where ids return in every turn", () => {
    const turn = (words: string) => [said(OPENAI, [call("call_0")]), result("call_0", words)];
    expect(repaired([...turn("one"), ...turn("two")]).map((message) => (message.role === "toolResult" ? [message.toolCallId, message.content] : (message as AssistantMessage).content))).toEqual([
      [call("call_0")], ["call_0", [text("one")]], [call("call_0_2")], ["call_0_2", [text("two")]],
    ]);
  });
  test("also where two calls of one turn share an id, or have none", () => {
    const sent = repaired([said(OPENAI, [call("a"), call("a"), call(""), call("")]), result("a", "1"), result("a", "2"), result("", "3"), result("", "4")]);
    const ids = (sent[0] as AssistantMessage).content.map((block) => (block.type === "toolCall" ? block.id : ""));
    expect(new Set(ids).size).toBe(4);
    expect(ids.every((id) => id !== "")).toBe(true);
    expect(sent.slice(1)).toEqual(ids.map((id, at) => result(id, String(at + 1))));
  });
});

describe("Ids fit the api, and are the same every time", () => {
  const idOf = (id: string, spec: ModelSpec) => (repaired([said(spec, [call(id)]), result(id)], spec)[1] as { toolCallId: string }).toolCallId;
  const long = `call_1|${"x+/=".repeat(100)}`;

  test("of Anthropic", () => {
    expect(idOf("call.1:a", ANTHROPIC)).toBe("call_1_a");
    expect(idOf(long, ANTHROPIC)).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });
  test("of OpenAI", () => {
    expect(idOf("call_1", OPENAI)).toBe("call_1");
    expect(idOf(long, OPENAI)).toMatch(/^[a-zA-Z0-9_-]{1,40}$/);
    expect(idOf(`${long}y`, OPENAI)).not.toBe(idOf(long, OPENAI));
    expect(idOf(long, OPENAI)).toBe(idOf(long, OPENAI));
  });
  test("of Mistral", () => {
    const mistral = specOf("openai-completions", { provider: "mistral" });
    expect(idOf("abcDEF123", mistral)).toBe("abcDEF123");
    expect(idOf("call_1", mistral)).toMatch(/^[a-zA-Z0-9]{9}$/);
  });
});

test("Names of tools that a model made up fit every api, in calls and results alike", () => {
  const names = ["functions.bash<|channel|>", "é", "", "x".repeat(80)];
  const sent = repaired([said(OPENAI, names.map((name, at) => call(`c${at}`, {}, name))), result("c0", "no such tool", { toolName: names[0]! })]);
  const fitting = ["functions_bash__channel__", "_", "unknown", "x".repeat(64)];
  expect((sent[0] as AssistantMessage).content.map((block) => (block as { name?: string }).name)).toEqual(fitting);
  expect(sent.slice(1).map((message) => (message as { toolName?: string }).toolName)).toEqual(fitting);
});

describe("Answers that are no answers are left out", () => {
  test("failed ones, with the results of their calls", () => {
    expect(repaired([user("hi"), said(OPENAI, [text("half"), call("a")], { stopReason: "error" }), result("a"), user("again")])).toEqual([user("hi"), user("again")]);
  });
  test("aborted ones without content, and the thinking of others that was cut off", () => {
    const thinking = { type: "thinking" as const, thinking: "hm" };
    expect(repaired([user("hi"), said(OPENAI, [thinking], { stopReason: "aborted" }), said(OPENAI, [thinking, text("half")], { stopReason: "aborted" }), user("again")])).toEqual([
      user("hi"), said(OPENAI, [text("half")], { stopReason: "aborted" }), user("again"),
    ]);
  });
  test("empty texts and messages", () => {
    expect(repaired([user(""), user([text(" ")]), user("hi"), said(OPENAI, [text("\n")]), said(OPENAI, [text(""), text("x")]), user([text(""), text("y")])])).toEqual([
      user("hi"), said(OPENAI, [text("x")]), user([text("y")]),
    ]);
  });
  test("messages without any content", () => {
    expect(repaired([{ role: "user", timestamp: 1 } as never, user("hi"), { ...said(OPENAI, []), content: null } as never])).toEqual([user("hi")]);
  });
  test("but an empty result says so", () => {
    const calls = said(OPENAI, [call("a")]);
    expect(repaired([calls, result("a", [])])).toEqual([calls, result("a", "(no output)")]);
  });
});

describe("What another model said", () => {
  const other = { provider: "q", model: "n", api: "anthropic-messages" };

  test("is sent without its signatures, its thinking as text", () => {
    const content: AssistantMessage["content"] = [
      { type: "thinking", thinking: "hm", thinkingSignature: "sig" },
      { type: "thinking", thinking: "", thinkingSignature: "enc", redacted: true },
      { type: "text", text: "said", textSignature: "sig" },
      { ...call("a"), thoughtSignature: "sig" },
    ];
    expect(repaired([said(OPENAI, content, other), result("a")])).toEqual([said(OPENAI, [text("hm"), text("said"), call("a")], other), result("a")]);
  });
  test("is another's though only the model differs", () => {
    const content: AssistantMessage["content"] = [{ type: "thinking", thinking: "hm", thinkingSignature: "sig" }];
    expect(repaired([said(ANTHROPIC, content, { model: "n" })], ANTHROPIC)).toEqual([said(ANTHROPIC, [text("hm")], { model: "n" })]);
    expect(repaired([said(ANTHROPIC, content)], ANTHROPIC)).toEqual([said(ANTHROPIC, content)]);
  });
});

describe("Images", () => {
  const imageIn = (image: object, spec = SEEING) => (repaired([user([image as never])], spec)[0] as { content: unknown[] }).content[0];

  test("are sent to a model that sees, in results too", () => {
    const calls = said(SEEING, [call("a")]);
    const messages = [user([text("x"), PNG]), calls, result("a", [PNG])];
    expect(repaired(messages, SEEING)).toEqual(messages);
  });
  test("are told in words to one that does not", () => {
    const note = text("[Image left out: m takes no images.]");
    const calls = said(OPENAI, [call("a")]);
    expect(repaired([user([text("x"), PNG]), calls, result("a", [PNG])])).toEqual([user([text("x"), note]), calls, result("a", [note])]);
  });
  test("bear the type that their bytes say", () => {
    expect(imageIn({ ...PNG, mimeType: "image/jpeg" })).toEqual(PNG);
    expect(imageIn({ ...PNG, data: `data:image/png;base64,${PNG.data}` })).toEqual(PNG);
  });
  test("that are none, or too big, are told in words", () => {
    const png = (width: number) => {
      const head = Buffer.from(PNG.data, "base64");
      head.writeUInt32BE(width, 16);
      return { ...PNG, data: head.toString("base64") };
    };
    expect(imageIn({ ...PNG, data: Buffer.from("<html>").toString("base64") })).toEqual(text("[Image left out: its bytes are no PNG, JPEG, GIF or WebP.]"));
    expect(imageIn({ ...PNG, data: PNG.data + "A".repeat(6 * 1024 * 1024) })).toEqual(text("[Image left out: it is too big (6.0 MB in base64, at most 5 MB).]"));
    expect(imageIn(png(12_000))).toEqual(text("[Image left out: it is too large (12000 pixels, at most 8000 a side).]"));
    expect(imageIn(png(8000))).toEqual(png(8000));
  });
});
