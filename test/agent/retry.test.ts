import { describe, expect, test } from "bun:test";
import type { Failure, FailureKind } from "../../src/llm/failure.ts";
import { planRetry } from "../../src/agent/retry.ts";
import { asks, call, fails, rig, says, start, story, text, tool } from "./rig.ts";

const settings = { enabled: true, maxRetries: 3, baseDelayMs: 2000, maxDelayMs: 60_000 };
const failure = (kind: FailureKind, retryAfterMs?: number): Failure => ({ kind, message: "m", ...(retryAfterMs !== undefined && { retryAfterMs }) });

describe("the plan for a retry", () => {
  test("is made for failures that pass, while there are tries left", () => {
    for (const kind of ["rate_limit", "overloaded", "server", "network", "timeout"] as const) expect(planRetry(failure(kind), 1, settings)).toHaveProperty("delayMs");
    for (const kind of ["auth", "quota", "overflow", "bad_request", "refusal"] as const) expect(planRetry(failure(kind), 1, settings)).toEqual({});
    expect(planRetry(failure("server"), 4, settings)).toEqual({});
    expect(planRetry(failure("server"), 1, { ...settings, enabled: false })).toEqual({});
  });

  test("waits longer each time, spread by chance, never above the limit", () => {
    const at = (attempt: number, random: number) => planRetry(failure("server"), attempt, { ...settings, maxRetries: 99 }, () => random);
    expect([at(1, 0), at(1, 1), at(2, 1), at(3, 1)]).toEqual([{ delayMs: 1500 }, { delayMs: 2000 }, { delayMs: 4000 }, { delayMs: 8000 }]);
    expect(at(90, 1)).toEqual({ delayMs: 60_000 });
    expect(planRetry(failure("server"), 1, { ...settings, baseDelayMs: 0 })).toEqual({ delayMs: 1 });
  });

  test("keeps to what the provider asks, and gives up at once when that is too long", () => {
    expect(planRetry(failure("rate_limit", 3000), 2, settings, () => 0)).toEqual({ delayMs: 3000 });
    expect(planRetry(failure("rate_limit", 3000), 2, settings, () => 0.5)).toEqual({ delayMs: 3150 });
    expect(planRetry(failure("rate_limit", 0), 1, settings, () => 1)).toEqual({ delayMs: 2000 });
    expect(planRetry(failure("rate_limit", 18_000_000), 1, settings)).toEqual({ because: "the provider asks to wait 5 h, more than the 60 s that retry.maxDelayMs allows" });
  });
});

describe("retries", () => {
  const retries = ({ events }: ReturnType<typeof rig>) => events.filter(({ type }) => type.startsWith("auto_retry") || type === "agent_end" || type === "agent_settled");
  const quick = { retry: { enabled: true, maxRetries: 2, baseDelayMs: 1, maxDelayMs: 1000 } };

  test("that succeed are told and leave the failures in the transcript, not in the requests", async () => {
    const r = rig({ steps: [fails({ kind: "overloaded", message: "busy now" }), fails({ kind: "network" }), says("recovered")], settings: quick });
    await r.run("hi");
    expect(retries(r)).toMatchObject([
      { type: "agent_end", willRetry: true, messages: [{ role: "user" }, { role: "assistant", stopReason: "error" }] },
      { type: "auto_retry_start", attempt: 1, maxAttempts: 2, delayMs: 1, errorMessage: "busy now" },
      { type: "agent_end", willRetry: true, messages: [{ role: "assistant", stopReason: "error" }] },
      { type: "auto_retry_start", attempt: 2, maxAttempts: 2 },
      { type: "auto_retry_end", success: true, attempt: 2 },
      { type: "agent_end", willRetry: false, messages: [{ role: "assistant", stopReason: "stop" }] },
      { type: "agent_settled", aborted: false, stopReason: "stop" },
    ]);
    expect(r.requests.map(({ messages }) => messages.map(({ role }) => role))).toEqual([["user"], ["user"], ["user"]]);
    expect(r.session.messages().map(({ role }) => role)).toEqual(["user", "assistant", "assistant", "assistant"]);
    expect(story(r.events).slice(8)).toEqual([
      "auto_retry_start", "agent_start", "turn_start", "message_start:assistant", "message_end:assistant", "turn_end", "agent_end",
      "auto_retry_start", "agent_start", "turn_start", "message_start:assistant", "message_update", "message_end:assistant", "auto_retry_end", "turn_end", "agent_end", "agent_settled",
    ]);
  });

  test("that give up say with what, and the next prompt works", async () => {
    const r = rig({ steps: [1, 2, 3].map((n) => fails({ kind: "server", message: `broken ${n}` })), settings: quick });
    expect(await r.run("hi")).toEqual({ type: "agent_settled", aborted: false, stopReason: "error", errorMessage: "broken 3" });
    expect(retries(r).slice(-3)).toMatchObject([{ type: "auto_retry_end", success: false, attempt: 2, finalError: "broken 3" }, { type: "agent_end", willRetry: false }, { type: "agent_settled" }]);
    expect(r.requests.length).toBe(3);
    expect(await r.run("next")).toMatchObject({ stopReason: "stop" });
  });

  test("count anew after an answer", async () => {
    const bad = () => fails({ kind: "server" });
    const r = rig({ steps: [bad(), bad(), asks(call("echo")), bad(), bad(), says("ok")], tools: [tool("echo", () => text("x"))], settings: quick });
    expect(await r.run("hi")).toMatchObject({ stopReason: "stop" });
    expect(r.events.flatMap((event) => (event.type === "auto_retry_start" ? [event.attempt] : []))).toEqual([1, 2, 1, 2]);
  });

  test("are not made for other failures, nor when they are off", async () => {
    const denied = rig({ steps: [fails({ kind: "auth", message: "bad key" })] });
    expect(await denied.run("hi")).toMatchObject({ stopReason: "error", errorMessage: "bad key" });
    const off = rig({ steps: [fails({ kind: "server" })] });
    off.agent.autoRetry = false;
    expect(await off.run("hi")).toMatchObject({ stopReason: "error" });
    expect([denied.requests.length, off.requests.length, retries(off).length]).toEqual([1, 1, 2]);
  });

  test("are not made when the provider asks for too long a wait: the answer says how long", async () => {
    const r = rig({ steps: [fails({ kind: "rate_limit", message: "come back later", retryAfterMs: 18_000_000 })] });
    const errorMessage = "come back later (the provider asks to wait 5 h, more than the 60 s that retry.maxDelayMs allows)";
    expect(await r.run("hi")).toMatchObject({ stopReason: "error", errorMessage });
    expect(r.session.messages().at(-1)).toMatchObject({ errorMessage });
    expect(r.requests.length).toBe(1);
  });

  for (const [how, aborted] of [["abort", true], ["abortRetry", false]] as const) {
    test(`are given up by ${how}`, async () => {
      const r = rig({ steps: [fails({ kind: "server", message: "down" })], settings: { retry: { enabled: true, maxRetries: 2, baseDelayMs: 60_000, maxDelayMs: 60_000 } } });
      start(r.agent, "hi");
      await r.event(({ type }) => type === "auto_retry_start");
      void r.agent[how]();
      await r.agent.whenIdle();
      expect(retries(r).slice(-2)).toEqual([
        { type: "auto_retry_end", success: false, attempt: 1, finalError: "Retry cancelled" },
        aborted ? { type: "agent_settled", aborted, stopReason: "aborted" } : { type: "agent_settled", aborted, stopReason: "error", errorMessage: "down" },
      ]);
      expect(r.requests.length).toBe(1);
    });
  }
});
