import { describe, expect, test } from "bun:test";
import { parseFauxScript } from "../../src/llm/faux-script.ts";
import type { StreamEvent } from "../../src/llm/model.ts";
import { ModelRegistry, type FauxOptions } from "../../src/llm/registry.ts";
import { argumentFault } from "../../src/llm/tool-arguments.ts";
import { askSpec, LONG, told, user, type Ask } from "./ask.ts";

/** A model whose turns are played one after another. */
function faux(options: FauxOptions) {
  const models = new ModelRegistry({ providers: {}, env: {}, timeouts: LONG, faux: options });
  return (ask: Ask = {}) => askSpec(models, models.find("faux", "faux-1")!, ask);
}
const script = (...turns: object[][]) => ({ script: parseFauxScript(JSON.stringify({ turns })) });
const deltas = (events: StreamEvent[]) => events.flatMap((event) => ("delta" in event ? [event.delta] : []));
const text = (words: string) => ({ content: [{ type: "text", text: words }], stopReason: "stop" });

test("Turns are played in order, and then it is said that there are no more", async () => {
  const next = faux(script([{ text: "one" }], [{ text: "two, " }, { text: "in steps" }]));
  expect(told(await next())).toEqual(text("one"));
  expect(told(await next())).toEqual(text("two, in steps"));
  expect(told(await next())).toEqual(text("The faux script has ended: it has no more turns."));
});

test("A fixed response answers every turn, and without one it says how to script it", async () => {
  const next = faux({ response: "always" });
  expect([told(await next()), told(await next())]).toEqual([text("always"), text("always")]);
  const { message } = await faux({})();
  expect(JSON.stringify(message.content)).toMatch(/PI_FAUX_RESPONSE.*--faux-script/);
});

test("Deltas are small and cut no character", async () => {
  const words = "ünï 🎉🎉🎉🎉 end";
  const { events } = await faux({ response: words })();
  expect(deltas(events).join("")).toBe(words);
  expect(deltas(events).length).toBeGreaterThan(2);
  for (const delta of deltas(events)) expect(delta).toBe(delta.toWellFormed());
});

test("Thinking and calls have blocks and ids of their own", async () => {
  const result = await faux(script([{ thinking: "hm" }, { text: "I look." }, { toolCall: { name: "bash", arguments: { command: "ls" }, id: "mine" } }, { toolCall: { name: "bash" } }]))();
  expect(told(result)).toEqual({
    content: [
      { type: "thinking", thinking: "hm" },
      { type: "text", text: "I look." },
      { type: "toolCall", id: "mine", name: "bash", arguments: { command: "ls" } },
      { type: "toolCall", id: expect.stringMatching(/^call_./), name: "bash", arguments: {} },
    ],
    stopReason: "toolUse",
  });
});

test("Arguments given as text are sent as they are", async () => {
  const { message } = await faux(script([{ toolCall: { name: "bash", arguments: '{"command":"ec' } }, { stopReason: "length" }]))();
  const [call] = message.content;
  expect([message.stopReason, call?.type === "toolCall" && [call.arguments, argumentFault(call)]]).toEqual(["length", [{ command: "ec" }, "the arguments end in the middle of a string, after 14 characters"]]);
});

test("Usage is the script's, or a guess", async () => {
  const counts = async (...steps: object[]) => {
    const { cost: _, ...usage } = (await faux(script(steps))({ request: { systemPrompt: "12345678", messages: [user("1234")] } })).message.usage;
    return usage;
  };
  expect(await counts({ text: "12345678" }, { usage: { input: 1000, output: 20, cacheRead: 5 } })).toEqual({ input: 1000, output: 20, cacheRead: 5, cacheWrite: 0, totalTokens: 1025 });
  expect(await counts({ text: "12345678" })).toEqual({ input: 3, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 5 });
});

test("An error ends its turn like a provider's", async () => {
  const next = faux(script([{ text: "x" }, { error: { status: 503, message: "too busy" } }, { text: "never" }], [{ error: { status: 429, message: "slow down", retryAfterMs: 1500 } }], [{ error: { message: "odd" } }], [{ text: "fine" }]));
  expect(await next()).toMatchObject({ message: { content: [{ type: "text", text: "x" }], stopReason: "error", errorMessage: "503 too busy" }, failure: { kind: "overloaded", status: 503 } });
  expect((await next()).failure).toEqual({ kind: "rate_limit", status: 429, retryAfterMs: 1500, message: "429 slow down" });
  expect((await next()).failure).toEqual({ kind: "server", message: "odd" });
  expect(told(await next())).toEqual(text("fine"));
});

describe("A delay", () => {
  test("is kept", async () => {
    const began = performance.now();
    await faux(script([{ text: "a" }, { delayMs: 60 }, { text: "b" }]))();
    expect(performance.now() - began).toBeGreaterThanOrEqual(58);
  });
  test("ends at an abort, with what had come", async () => {
    const controller = new AbortController();
    const next = faux(script([{ text: "part" }, { delayMs: 60_000 }], [{ text: "next" }]));
    const aborted = await next({ signal: controller.signal, onEvent: (event) => { if (event.type === "text_delta") setImmediate(() => controller.abort()); } });
    expect(told(aborted)).toEqual({ content: [{ type: "text", text: "part" }], stopReason: "aborted" });
    expect(told(await next())).toEqual(text("next"));
  });
});

test("A slow reader is waited for, and a long answer can be aborted", async () => {
  let held = 0;
  const controller = new AbortController();
  const result = await faux({ response: "x".repeat(100_000) })({
    signal: controller.signal,
    ready: () => {
      held += 1;
      return held % 2 ? Promise.resolve() : undefined;
    },
    onEvent: () => { if (held > 200) controller.abort(); },
  });
  expect(told(result)).toMatchObject({ stopReason: "aborted" });
});

describe("A script that is none is refused with its place", () => {
  const cases: [string, string][] = [
    ["nonsense", "faux script: not JSON"],
    ["{}", 'faux script: expected {"turns":[[step,…],…]}'],
    ['{"turns":[{}]}', "faux script: turns[0] is not a list of steps"],
    ['{"turns":[[{"text":"x"},{"txt":"x"}]]}', "faux script: turns[0][1]: a step is one of text, thinking, toolCall, delayMs, usage, stopReason, error"],
    ['{"turns":[[{"text":1}]]}', "faux script: turns[0][0].text is not as it should be"],
    ['{"turns":[[{"toolCall":{}}]]}', "faux script: turns[0][0].toolCall is not as it should be"],
  ];
  for (const [given, words] of cases) test(given, () => expect(() => parseFauxScript(given)).toThrow(words));
});
