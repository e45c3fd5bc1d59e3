import { describe, expect, test } from "bun:test";
import { ContextMeter, estimateMessage, estimateOverhead, estimateText, limits } from "../../src/agent/compaction-estimate.ts";
import type { AgentMessage } from "../../src/session/message.ts";
import { assistant, call, result, summaryOf, usageOf, user, words } from "./transcripts.ts";

const bash = (excludeFromContext: boolean): AgentMessage => ({ role: "bashExecution", command: "ls", output: words(100), cancelled: false, truncated: false, excludeFromContext, timestamp: 1 });

describe("an estimate", () => {
  test("counts four bytes a token, so that other scripts cost more", () => {
    expect([estimateText(""), estimateText("abcd"), estimateText("abcde"), estimateText("日本語日")]).toEqual([0, 1, 2, 3]);
  });

  test("counts what the model is sent, and nothing of what it never sees", () => {
    expect(estimateMessage(user(words(100)))).toBe(104);
    expect(estimateMessage(assistant([{ type: "thinking", thinking: words(50) }, { type: "text", text: words(10) }, call("1", "read", { path: words(20) })]))).toBeGreaterThan(80);
    expect(estimateMessage(assistant(words(100), { stopReason: "error" }))).toBe(0);
    expect(estimateMessage(bash(false))).toBeGreaterThan(100);
    expect(estimateMessage(bash(true))).toBe(0);
    expect(estimateMessage({ role: "user", content: [{ type: "image", data: "x".repeat(1_000_000), mimeType: "image/png" }], timestamp: 1 })).toBe(1604);
    expect(estimateMessage({ role: "system", content: words(100), timestamp: 1 })).toBe(0);
  });

  test("of what goes along with each request takes the prompt and the tools", () => {
    expect(estimateOverhead(words(100), [])).toBe(100);
    expect(estimateOverhead(words(100), [{ name: "read", description: words(50), parameters: { type: "object" } }])).toBeGreaterThan(150);
  });
});

describe("the meter", () => {
  test("guesses until a provider has counted, then adds what came after", () => {
    const meter = new ContextMeter();
    meter.setOverhead(1000);
    meter.add(user(words(96)));
    expect([meter.tokens, meter.isMeasured]).toEqual([1100, false]);
    meter.add(assistant("x", { usage: usageOf(5000, 20) }));
    expect([meter.tokens, meter.isMeasured]).toEqual([5020, true]);
    meter.add(result("1", words(96)));
    expect(meter.tokens).toBe(5120);
  });

  test("does not believe failed, aborted or empty counts", () => {
    const meter = new ContextMeter();
    meter.add(assistant("", { usage: usageOf(5000, 20), stopReason: "error" }));
    meter.add(assistant("", { usage: usageOf(5000, 20), stopReason: "aborted" }));
    meter.add(assistant("", { usage: usageOf(0, 0) }));
    expect(meter.isMeasured).toBe(false);
  });

  test("believes no count from before the compaction, and the next one again", () => {
    const meter = new ContextMeter();
    const kept = assistant(words(96), { usage: usageOf(120_000, 10) });
    meter.reset([summaryOf(words(96)), kept, user(words(96))]);
    expect([meter.tokens, meter.isMeasured]).toEqual([300, false]);
    meter.add(assistant("x", { usage: usageOf(400, 10) }));
    expect([meter.tokens, meter.isMeasured]).toEqual([410, true]);
  });

  test("on resuming takes the last count after the compaction", () => {
    const meter = new ContextMeter();
    const summary = summaryOf("s");
    meter.reset([summary, user("a"), assistant("b", { usage: usageOf(700, 10) }), user(words(96))]);
    expect([meter.tokens, meter.isMeasured]).toEqual([810, true]);
  });
});

test("small windows keep less and reserve less, an unknown one has no threshold", () => {
  const settings = { reserveTokens: 16_384, keepRecentTokens: 20_000 };
  expect(limits(128_000, settings)).toEqual({ threshold: 111_616, keepTokens: 20_000 });
  expect(limits(32_768, settings)).toEqual({ threshold: 24_576, keepTokens: 12_288 });
  expect(limits(8192, settings)).toEqual({ threshold: 6144, keepTokens: 3072 });
  expect(limits(null, settings)).toEqual({ threshold: null, keepTokens: 20_000 });
});
