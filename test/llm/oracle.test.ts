import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import path from "node:path";
import type { AssistantMessage, Message } from "../../src/llm/message.ts";
import type { ModelRequest } from "../../src/llm/model.ts";
import { anthropic, openai } from "../support/dialects.ts";
import { ModelServer, type Answer } from "../support/model-server.ts";
import { registryAt, askSpec, user } from "./ask.ts";
import { call, PNG, result, said, specOf, TOOL } from "./transcript.ts";

/** What can be seen of one request from outside: what was sent, what was told, what came of it. */
interface View {
  body: any;
  /** Starts and ends as they came, the deltas of each block put together. */
  events: any[];
  message: any;
}

interface Case {
  name: string;
  api: "openai-completions" | "anthropic-messages";
  answer: Answer | string[];
  request?: Partial<ModelRequest>;
  model?: Record<string, any>;
}

/** Where we mean to differ from pi: `make` turns pi's view into the one that is ours. */
interface Difference {
  reason: string;
  make(theirs: View, one: Case): void;
}

const each = (messages: any[], change: (message: any) => void) => messages.forEach(change);

const DIFFERENCES: Difference[] = [
  {
    reason: "A field that a server need not know (`store`, a tool's `strict`, `eager_input_streaming`) goes only to hosts that are known to take it.",
    make: ({ body }) => {
      delete body.store;
      for (const tool of body.tools ?? []) delete tool.eager_input_streaming;
    },
  },
  {
    reason: "The bound of the answer goes as max_tokens, which older servers know, to all but OpenAI itself.",
    make: ({ body }) => rename(body, "max_completion_tokens", "max_tokens"),
  },
  {
    reason: "Text that is one block goes as a string to an OpenAI-compatible server: some take nothing else.",
    make: ({ body }, { api }) => api === "openai-completions" && each(body.messages, (message) => {
      if (message.content?.length === 1 && message.content[0].type === "text") message.content = message.content[0].text;
    }),
  },
  {
    reason: "Content of the user goes to Anthropic as a list of blocks always: one form.",
    make: ({ body }, { api }) => api === "anthropic-messages" && each(body.messages, (message) => {
      if (typeof message.content === "string") message.content = [{ type: "text", text: message.content }];
    }),
  },
  {
    reason: "The user's message before the last answer is marked for the cache too: it ended the prefix of the request before.",
    make: ({ body }, { api }) => {
      const lastAnswer = body.messages.findLastIndex(({ role }: any) => role === "assistant");
      const last = api === "anthropic-messages" ? body.messages[lastAnswer - 1]?.content.at(-1) : undefined;
      if (last) last.cache_control = { type: "ephemeral" };
    },
  },
  {
    reason: "is_error is sent only where there is one.",
    make: ({ body }) => each(body.messages.flatMap(({ content }: any) => (Array.isArray(content) ? content : [])), (block) => {
      if (block.is_error === false) delete block.is_error;
    }),
  },
  {
    reason: "Thinking with a budget is summarised by itself; only adaptive thinking needs to be asked for its display.",
    make: ({ body }) => {
      if (body.thinking?.type === "enabled") delete body.thinking.display;
    },
  },
  {
    reason: "Thinking of another model goes along as text; pi leaves it out.",
    make: ({ body }, { name }) => {
      if (name !== "a conversation begun elsewhere") return;
      const assistant = body.messages.find(({ role }: any) => role === "assistant");
      if (typeof assistant.content === "string") assistant.content = `foreign thinking${assistant.content}`;
      else assistant.content.unshift({ type: "text", text: "foreign thinking" });
    },
  },
  {
    reason: "Words of our own for what is missing.",
    make: ({ body }) => replaceText(body, {
      "No result provided": "No result: the call was interrupted before it ended.",
      "(image omitted: model does not support images)": "[Image left out: m takes no images.]",
      "(tool image omitted: model does not support images)": "[Image left out: m takes no images.]",
      "(see attached image)": "(see the image below)",
      "Attached image(s) from tool result:": "Images of the tool results above:",
    }),
  },
  {
    reason: "An image in a result goes to Anthropic without a line that says so.",
    make: ({ body }, { api }) => api === "anthropic-messages" && each(body.messages.flatMap(({ content }: any) => content), (block) => {
      if (block.type === "tool_result" && Array.isArray(block.content)) block.content = block.content.filter((inner: any) => inner.text !== "(see the image below)");
    }),
  },
  {
    reason: "Parallel calls under one index stay apart; pi puts their arguments together.",
    make: (theirs, { name }) => {
      if (name !== "parallel calls under one index") return;
      const one = call("a", { command: "one" });
      const two = call("b", { command: "two" });
      theirs.message.content = [one, two];
      theirs.events = [one, two].flatMap((toolCall, contentIndex) => [
        { type: "toolcall_start", contentIndex },
        { type: "toolcall_delta", contentIndex, delta: JSON.stringify(toolCall.arguments) },
        { type: "toolcall_end", contentIndex, toolCall },
      ]);
    },
  },
  {
    reason: "A tool call ends as soon as its arguments are complete, a text as soon as another block begins; pi ends the blocks of Chat Completions when the stream ends. Every start has its end also in an answer that failed.",
    make: (theirs, { api }) => {
      if (api === "openai-completions" || theirs.message.stopReason === "error") theirs.events = inBlocks(theirs);
    },
  },
  {
    reason: "<think> at the beginning of a text is thinking.",
    make: (theirs, { name }) => {
      if (name !== "think tags") return;
      theirs.message.content = [{ type: "thinking", thinking: "hm" }, { type: "text", text: "said" }];
      theirs.events = inBlocks(theirs);
    },
  },
  {
    reason: "The text of redacted thinking is empty: nobody said anything.",
    make: ({ message, events }) => each([...message.content, ...events], (block) => {
      if (block.thinking === "[Reasoning redacted]") block.thinking = "";
      if (block.content === "[Reasoning redacted]") block.content = "";
    }),
  },
  {
    reason: "Thinking that has no signature has none, not an empty one.",
    make: ({ message }) => each(message.content, (block) => {
      if (block.thinkingSignature === "") delete block.thinkingSignature;
    }),
  },
  {
    reason: "An answer without a finish reason, but with the stream's proper end, is an answer.",
    make: ({ message }, { name }) => {
      if (name !== "no finish reason") return;
      message.stopReason = "stop";
      delete message.errorMessage;
    },
  },
  {
    reason: "Calls mean toolUse, whatever word the server uses.",
    make: ({ message }) => {
      if (message.stopReason === "stop" && message.content.some(({ type }: any) => type === "toolCall")) message.stopReason = "toolUse";
    },
  },
  {
    reason: "Reasoning tokens are told where there were some.",
    make: ({ message }) => {
      if (!message.usage.reasoning) delete message.usage.reasoning;
      delete message.usage.cacheWrite1h;
    },
  },
  {
    reason: "Failures are told in our words; that there is one, and its status, is the same.",
    make: ({ message }) => {
      if (message.errorMessage) message.errorMessage = /\b[45]\d\d\b/.exec(message.errorMessage)?.[0] ?? "some words";
    },
  },
  {
    reason: "A message says its level of thinking where the model thinks.",
    make: ({ message }, { request, model }) => {
      if (model?.reasoning) message.thinkingLevel = request?.thinkingLevel ?? "off";
    },
  },
];

const OPENAI = specOf("openai-completions");
const ANTHROPIC = specOf("anthropic-messages");
const ELSEWHERE = { api: "other", provider: "q", model: "n" };
const text = (words: string) => ({ type: "text" as const, text: words });
const own = (spec: typeof OPENAI, content: AssistantMessage["content"]) => said(spec, content);
const finished = (...pieces: string[]) => [...pieces, openai.finish("stop"), openai.usage({ prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }), openai.done];
const answered = (...pieces: string[]) => [anthropic.start(), ...pieces, ...anthropic.stop("end_turn")];

/** Conversations that both dialects are asked about. */
function conversations(spec: typeof OPENAI): { name: string; request: Partial<ModelRequest>; model?: Record<string, any> }[] {
  const turn: Message[] = [user("hi"), own(spec, [text("I look."), call("a", { command: "ls" }), call("b")]), result("a", "files"), result("b", "failed", { isError: true })];
  return [
    { name: "one message", request: {} },
    { name: "one message in a block", request: { messages: [user([text("hi")])] } },
    { name: "a system prompt, tools and a session", request: { systemPrompt: "Be brief.", tools: [{ ...TOOL, parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] } }], sessionId: "s" } },
    { name: "a turn with calls", request: { messages: turn } },
    { name: "a turn that goes on", request: { messages: [...turn, own(spec, [text("done")]), user([text("see"), PNG])] }, model: { input: ["text", "image"] } },
    { name: "images for a model that sees", request: { messages: [user([text("see"), PNG]), own(spec, [call("a")]), result("a", [PNG])] }, model: { input: ["text", "image"] } },
    { name: "images for one that does not", request: { messages: [user([text("see"), PNG]), own(spec, [call("a")]), result("a", [PNG])] } },
    { name: "a call that was cut off", request: { messages: [user("hi"), own(spec, [call("a")]), user("go on")] } },
    { name: "an answer that failed", request: { messages: [user("hi"), said(spec, [text("half")], { stopReason: "error" }), user("again")] } },
    { name: "a conversation begun elsewhere", request: { messages: [user("hi"), said(spec, [{ type: "thinking", thinking: "foreign thinking", thinkingSignature: "sig" }, text("said")], ELSEWHERE), user("go on")] } },
    { name: "a level of thinking", request: { thinkingLevel: "low" }, model: { reasoning: true } },
    { name: "no thinking", request: { thinkingLevel: "off" }, model: { reasoning: true } },
    { name: "a level by the model's map", request: { thinkingLevel: "xhigh" }, model: { reasoning: true, thinkingLevelMap: { xhigh: "very-high" }, compat: { forceAdaptiveThinking: true } } },
  ];
}

const CASES: Case[] = [
  ...conversations(OPENAI).map((one): Case => ({ api: "openai-completions", answer: openai.answer("x"), ...one })),
  ...conversations(ANTHROPIC).map((one): Case => ({ api: "anthropic-messages", answer: anthropic.answer("x"), ...one })),
  ...Object.entries<Partial<Case> & { answer: Answer | string[] }>({
    "text": { answer: openai.answer("Hel", "lo") },
    "its own reasoning, sent back": {
      answer: openai.answer("x"),
      request: { messages: [user("hi"), own(OPENAI, [{ type: "thinking", thinking: "hm", thinkingSignature: "reasoning_content" }, text("said")]), user("y")] },
    },
    "reasoning": { answer: finished(openai.chunk({ reasoning_content: "hm " }), openai.chunk({ reasoning_content: "hm" }), openai.text("said")), model: { reasoning: true } },
    "reasoning under another name": { answer: finished(openai.chunk({ reasoning: "hm" }), openai.text("said")) },
    "reasoning details": { answer: finished(openai.chunk({ reasoning: "hm", reasoning_details: [{ type: "reasoning.text", text: "hm" }] }), openai.chunk({ reasoning_details: [{ type: "reasoning.encrypted", data: "AA", id: "r" }] }), openai.text("said")) },
    "think tags": { answer: finished(openai.text("<think>hm</think>\n"), openai.text("said")) },
    "a call in pieces": { answer: [openai.calls({ index: 0, id: "a", type: "function", function: { name: "bash", arguments: "" } }), openai.calls({ index: 0, function: { arguments: '{"command":' } }), openai.calls({ index: 0, function: { arguments: '"ls"}' } }), openai.finish("tool_calls"), openai.done] },
    "text and calls": { answer: [openai.text("I look."), openai.call(0, "a", "bash", { command: "one" }), openai.call(1, "b", "bash", { command: "two" }), openai.finish("tool_calls"), openai.done] },
    "calls that end with stop": { answer: finished(openai.call(0, "a", "bash", {})) },
    "parallel calls under one index": { answer: [openai.call(0, "a", "bash", { command: "one" }), openai.call(0, "b", "bash", { command: "two" }), openai.finish("tool_calls"), openai.done] },
    "a length stop": { answer: [openai.text("cut"), openai.finish("length"), openai.done] },
    "no finish reason": { answer: [openai.text("x"), openai.done] },
    "a content filter": { answer: [openai.text("x"), openai.finish("content_filter"), openai.done] },
    "usage with caches and reasoning": { answer: [openai.text("x"), openai.finish("stop"), openai.usage({ prompt_tokens: 100, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 }, completion_tokens_details: { reasoning_tokens: 4 } }), openai.done] },
    "usage in the choice": { answer: [openai.text("x"), openai.chunk({}, { finish_reason: "stop", usage: { prompt_tokens: 7, completion_tokens: 3 } }), openai.done] },
    "an error in the middle": { answer: [openai.text("part"), openai.error({ message: "it broke", type: "server_error" })] },
    "a bad request": { answer: { status: 400, headers: { "content-type": "application/json" }, body: [JSON.stringify({ error: { message: "bad field" } })] } },
  }).map(([name, one]): Case => ({ name, api: "openai-completions", ...one })),
  ...Object.entries<Partial<Case> & { answer: Answer | string[] }>({
    "text": { answer: anthropic.answer("Hel", "lo") },
    "its own thinking, sent back": {
      answer: anthropic.answer("x"),
      request: { messages: [user("hi"), own(ANTHROPIC, [{ type: "thinking", thinking: "hm", thinkingSignature: "sig" }, { type: "thinking", thinking: "", thinkingSignature: "AA", redacted: true }, { type: "thinking", thinking: "unsigned" }, text("said")]), user("y")] },
    },
    "thinking": { answer: answered(...anthropic.thinkingBlock(0, "hm", "sig"), ...anthropic.textBlock(1, "said")), model: { reasoning: true } },
    "unsigned thinking": { answer: answered(anthropic.begin(0, { type: "thinking", thinking: "", signature: "" }), anthropic.delta(0, { type: "thinking_delta", thinking: "hm" }), anthropic.end(0), ...anthropic.textBlock(1, "said")) },
    "redacted thinking": { answer: answered(anthropic.begin(0, { type: "redacted_thinking", data: "AA" }), anthropic.end(0), ...anthropic.textBlock(1, "said")) },
    "text and calls": { answer: [anthropic.start(), ...anthropic.textBlock(0, "I look."), ...anthropic.toolBlock(1, "a", "bash", '{"command":', '"one"}'), ...anthropic.toolBlock(2, "b", "bash", "{}"), ...anthropic.stop("tool_use")] },
    "a length stop": { answer: [anthropic.start(), ...anthropic.textBlock(0, "cut"), ...anthropic.stop("max_tokens")] },
    "usage with caches": { answer: [anthropic.start({ input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 100, cache_creation_input_tokens: 7 }), ...anthropic.textBlock(0, "x"), ...anthropic.stop("end_turn", { output_tokens: 20 })] },
    "another model's answer": { answer: [anthropic.start({ input_tokens: 1 }, "m-2026"), ...anthropic.textBlock(0, "x"), ...anthropic.stop("end_turn")] },
    "a refusal": { answer: [anthropic.start(), ...anthropic.textBlock(0, "x"), ...anthropic.stop("refusal")] },
    "an error in the middle": { answer: [anthropic.start(), ...anthropic.textBlock(0, "part"), anthropic.error("overloaded_error", "Overloaded")] },
    "a bad request": { answer: { status: 400, headers: { "content-type": "application/json" }, body: [JSON.stringify({ type: "error", error: { type: "invalid_request_error", message: "bad field" } })] } },
  }).map(([name, one]): Case => ({ name, api: "anthropic-messages", ...one })),
];

const COST = { input: 1, output: 2, cacheRead: 0.5, cacheWrite: 4 };
const MODEL = { id: "m", name: "m", reasoning: false, input: ["text"], contextWindow: 100_000, maxTokens: 8000, cost: COST };

let server: ModelServer;
const theirs = new Map<string, { streamSimple(model: any, context: any, options: any): AsyncIterable<any> & { result(): Promise<any> } }>();

beforeAll(async () => {
  server = await ModelServer.start();
  const folder = path.resolve(import.meta.dir, "../../node_modules/@earendil-works/pi-ai/dist/api");
  for (const api of ["openai-completions", "anthropic-messages"]) theirs.set(api, await import(path.join(folder, `${api}.js`)));
});
afterAll(() => server.close());

for (const api of ["openai-completions", "anthropic-messages"] as const) {
  describe(`pi and rpi see the same over ${api}`, () => {
    for (const one of CASES.filter((candidate) => candidate.api === api)) {
      test(one.name, async () => {
        const expected = await theirView(one);
        for (const difference of DIFFERENCES) change(expected, one, difference);
        expect(await ourView(one)).toEqual(expected);
      });
    }
  });
}

const changed = new Set<Difference>();

test("Every difference that is listed is one", () => {
  expect(DIFFERENCES.filter((difference) => !changed.has(difference)).map(({ reason }) => reason)).toEqual([]);
});

function change(view: View, one: Case, difference: Difference): void {
  const before = JSON.stringify(view);
  difference.make(view, one);
  if (JSON.stringify(view) !== before) changed.add(difference);
}

async function ourView({ api, answer, request, model }: Case): Promise<View> {
  server.script(answer as Answer);
  const registry = registryAt(server.url, { api, model: { ...MODEL, ...model } as never });
  const { events, message, failure } = await askSpec(registry, registry.find("p", "m")!, { request: { thinkingLevel: "off", ...request } });
  const told = { ...message, ...(failure ? { errorMessage: failure.status ? String(failure.status) : "some words" } : {}) };
  return { body: plain(server.last.body), events: joined(events), message: comparable(told) };
}

async function theirView({ api, answer, request, model }: Case): Promise<View> {
  server.script(answer as Answer);
  const { systemPrompt = "", messages = [user("hi")], tools = [], thinkingLevel = "off", sessionId } = request ?? {};
  const system = systemPrompt || tools.length ? [{ role: "system", content: systemPrompt, ...(tools.length ? { toolsAdded: tools } : {}), timestamp: 0 }] : [];
  const stream = theirs.get(api)!.streamSimple(
    { ...MODEL, api, provider: "p", baseUrl: api === "openai-completions" ? `${server.url}/v1` : server.url, ...model },
    { messages: [...system, ...structuredClone(messages)] },
    { apiKey: "sk-test-key-0123", sessionId, maxRetries: 0, ...(thinkingLevel === "off" ? {} : { reasoning: thinkingLevel }) },
  );
  const events: any[] = [];
  for await (const { partial: _, ...event } of stream) if (!["start", "done", "error"].includes(event.type)) events.push(structuredClone(event));
  return { body: plain(server.last.body), events: joined(events), message: comparable(await stream.result()) };
}

/** Events with the deltas of a block as one, and without what a start says of its call. */
function joined(events: readonly any[]): any[] {
  const list: any[] = [];
  for (const { id: _, toolName: __, ...event } of events) {
    const open = list.findLast((other) => other.type === event.type && other.contentIndex === event.contentIndex);
    if ("delta" in event && open) open.delta += event.delta;
    else if (event.delta !== "") list.push({ ...event });
  }
  return list;
}

/** The events of a message whose blocks came one after another. */
function inBlocks({ message }: View): any[] {
  return message.content.flatMap((block: any, contentIndex: number) => {
    const kind = block.type === "toolCall" ? "toolcall" : block.type;
    const content = block.text ?? block.thinking;
    const delta = content ?? JSON.stringify(block.arguments);
    return [
      { type: `${kind}_start`, contentIndex },
      ...(delta === "" ? [] : [{ type: `${kind}_delta`, contentIndex, delta }]),
      { type: `${kind}_end`, contentIndex, ...(kind === "toolcall" ? { toolCall: block } : { content }) },
    ];
  });
}

function comparable({ durationMs: _, timestamp: __, ...message }: any): any {
  const { usage } = message;
  // pi tells how it came to the sums, too.
  const cost = Object.fromEntries(["input", "output", "cacheRead", "cacheWrite", "total"].map((name) => [name, Number(usage.cost[name].toFixed(12))]));
  return plain({ ...message, usage: { ...usage, cost } });
}

/** As it would be read from the wire: undefined is nothing. */
function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}

function rename(object: any, from: string, to: string): void {
  if (!(from in object)) return;
  object[to] = object[from];
  delete object[from];
}

function replaceText(value: any, words: Record<string, string>): void {
  for (const [key, inner] of Object.entries(value)) {
    if (typeof inner === "string" && words[inner] !== undefined) value[key] = words[inner];
    else if (typeof inner === "object" && inner !== null) replaceText(inner, words);
  }
}
