import { describe, expect, test } from "bun:test";
import type { AgentEvent } from "../../src/agent/events.ts";
import { textOf } from "../../src/llm/message.ts";
import { asks, call, fails, gate, hangs, rig, says, spec, start, story, text, tool, type Step } from "./rig.ts";

const settings = { compaction: { enabled: true, reserveTokens: 1000, keepRecentTokens: 1000 } };
const long = (word: string) => `${word} ${"word ".repeat(400)}`;
const model = spec("m", { contextWindow: 10_000, maxTokens: 2000 });
const isSummary = (o: Parameters<Step>[0]) => o.request.tools.length === 0 && JSON.stringify(o.request.messages).includes("<conversation>");

/** A talk of about 2 500 tokens; summaries are answered by `summary`, everything else by the steps given. */
async function talked(o: { steps?: Step[]; summary?: Step; more?: Parameters<typeof rig>[0] } = {}) {
  const summary = { step: o.summary ?? says("THE-SUMMARY", { input: 2000, output: 10, totalTokens: 2010 }) };
  const steps = [says("one"), says("two"), says("three"), says("four"), ...(o.steps ?? [])];
  const asked = { summaries: 0 };
  const route: Step = (given) => {
    if (isSummary(given)) { asked.summaries++; return summary.step(given); }
    return (steps.shift() ?? says("done"))(given);
  };
  const r = rig({ settings, spec: model, ...o.more, steps: Array.from({ length: 60 }, () => route) });
  for (const word of ["alpha", "bravo", "carol", "delta"]) await r.run(long(word));
  r.events.length = 0;
  return { ...r, asked, summary };
}

const compactions = (events: readonly AgentEvent[]) => events.filter(({ type }) => type.startsWith("compaction") || type === "agent_settled");
const sent = ({ requests }: { requests: readonly { messages: readonly { content: unknown }[] }[] }) => JSON.stringify(requests.at(-1)?.messages);

describe("a compaction by hand", () => {
  test("puts a summary in place of the older talk, and tells it", async () => {
    const r = await talked();
    const result = await r.agent.compact();
    expect(result).toMatchObject({ summary: "THE-SUMMARY", usage: { input: 2000, totalTokens: 2010 }, details: { readFiles: [], modifiedFiles: [] } });
    expect(r.session.contextItems()[1]?.entryId).toBe(result.firstKeptEntryId);
    expect(result.estimatedTokensAfter!).toBeLessThan(result.tokensBefore);
    expect(r.events).toEqual([{ type: "compaction_start", reason: "manual" }, { type: "compaction_end", reason: "manual", result, aborted: false, willRetry: false }]);
    expect(r.session.messages()[0]).toMatchObject({ role: "compactionSummary", summary: "THE-SUMMARY" });
    expect(r.agent.contextUsage()).toEqual({ tokens: null, contextWindow: 10_000, percent: null });
    r.steps.unshift(says("five", { input: 900, output: 100, totalTokens: 1000 }));
    await r.run("next");
    expect(sent(r)).toMatch(/THE-SUMMARY/);
    expect(sent(r)).not.toMatch(/alpha/);
    expect(r.agent.contextUsage()).toEqual({ tokens: 1000, contextWindow: 10_000, percent: 10 });
  });

  test("of too little is refused, without an event", async () => {
    const r = rig({ settings, spec: model });
    await r.run("hi");
    r.events.length = 0;
    expect(r.agent.compact()).rejects.toThrow(/^Nothing to compact \(session too small\)$/);
    await r.agent.whenIdle();
    expect([r.events, r.agent.isCompacting]).toEqual([[], false]);
    await r.run("next");
  });

  test("minds the instructions", async () => {
    let asked = "";
    const r = await talked({ summary: (o) => { asked = textOf(o.request.messages[0]!.content); return says("S")(o); } });
    await r.agent.compact("keep the colour of the bicycle");
    expect(asked).toContain("colour of the bicycle");
  });

  test("that fails changes nothing and leaves no latch", async () => {
    for (const step of [fails({ kind: "bad_request", message: "no summary today" }), says(""), says(" \n")]) {
      const r = await talked({ summary: step });
      const before = [...r.session.messages()];
      expect(r.agent.compact()).rejects.toThrow();
      await r.agent.whenIdle();
      expect(r.events).toEqual([{ type: "compaction_start", reason: "manual" }, { type: "compaction_end", reason: "manual", aborted: false, willRetry: false, errorMessage: expect.any(String) }]);
      expect([r.session.messages(), r.agent.isCompacting]).toEqual([before, false]);
      expect(await r.run("next")).toMatchObject({ stopReason: "stop" });
      expect(sent(r)).toMatch(/alpha/);
    }
  });

  test("is stopped by an abort", async () => {
    const r = await talked({ summary: hangs() });
    const compacted = r.agent.compact();
    await r.event(({ type }) => type === "compaction_start");
    expect([r.agent.isCompacting, r.agent.isStreaming]).toEqual([true, false]);
    await r.agent.abort();
    expect(compacted).rejects.toMatchObject({ code: "cancelled" });
    expect(r.events.at(-1)).toEqual({ type: "compaction_end", reason: "manual", aborted: true, willRetry: false });
    expect([r.agent.isCompacting, r.agent.isIdle]).toEqual([false, true]);
    await r.run("next");
  });

  test("during another one is refused at once, and so is a prompt", async () => {
    const r = await talked({ summary: hangs() });
    const first = r.agent.compact();
    expect(r.agent.compact()).rejects.toMatchObject({ code: "busy" });
    expect(() => r.agent.prompt({ text: "x" })).toThrow(/streamingBehavior/);
    await r.agent.abort();
    expect(first).rejects.toMatchObject({ code: "cancelled" });
  });

  test("aborts the run that is active first", async () => {
    const r = await talked({ steps: [hangs()] });
    start(r.agent, "go");
    await r.event(({ type }) => type === "message_update");
    let begun = false;
    const compacted = r.agent.compact(undefined, () => { begun = r.agent.isCompacting; });
    expect(await compacted).toMatchObject({ summary: "THE-SUMMARY" });
    expect(begun).toBe(true);
    expect(compactions(r.events)).toMatchObject([{ type: "agent_settled", aborted: true }, { type: "compaction_start" }, { type: "compaction_end", aborted: false }]);
  });

  test("lets what was queued meanwhile run afterwards", async () => {
    for (const step of [says("S"), fails({ kind: "auth" })]) {
      const go = gate();
      const r = await talked({ summary: async (o) => { await go.promise; return step(o); } });
      const compacted = r.agent.compact().catch(() => {});
      r.agent.steer({ text: "s" });
      expect(r.agent.prompt({ text: "f", streamingBehavior: "followUp", requestId: "q" })).toEqual({ disposition: "queued" });
      go.open();
      await compacted;
      expect([r.agent.isIdle, r.events.some(({ type }) => type === "agent_start")]).toEqual([false, false]);
      await r.agent.whenIdle();
      expect(r.events.at(-1)).toEqual({ type: "agent_settled", aborted: false, promptIds: ["q"], stopReason: "stop" });
      expect(r.agent.pendingMessageCount).toBe(0);
    }
  });

  test("that is aborted leaves what was queued in the queue", async () => {
    const r = await talked({ summary: hangs() });
    const compacted = r.agent.compact().catch(() => {});
    r.agent.followUp({ text: "f" });
    await r.agent.abort();
    await compacted;
    expect([r.agent.pendingMessageCount, r.agent.isIdle]).toEqual([1, true]);
  });

  test("tries a summary again that failed in passing", async () => {
    let tries = 0;
    const r = await talked({ summary: (o) => (++tries === 1 ? fails({ kind: "overloaded", message: "busy" }) : says("S"))(o) });
    await r.agent.compact();
    expect(r.events.map(({ type }) => type)).toEqual(["compaction_start", "summarization_retry_scheduled", "summarization_retry_attempt_start", "summarization_retry_finished", "compaction_end"]);
  });
});

describe("a compaction by the threshold", () => {
  const full = { input: 9500, output: 10, totalTokens: 9510 };
  const asking: Step = async (o) => {
    const { message } = await asks(call("echo"))(o);
    return { message: { ...message, usage: { ...message.usage, ...full } } };
  };

  test("comes after the end of the run, before it is settled", async () => {
    const r = await talked({ steps: [says("full", full)] });
    await r.run("go", { requestId: "p" });
    expect(story(r.events).slice(-4)).toEqual(["agent_end", "compaction_start", "compaction_end", "agent_settled"]);
    expect(compactions(r.events)).toMatchObject([{ reason: "threshold" }, { reason: "threshold", aborted: false, willRetry: false, result: { summary: "THE-SUMMARY" } }, { promptIds: ["p"] }]);
    await r.run("next");
    expect(sent(r)).not.toMatch(/alpha/);
    expect(r.asked.summaries).toBe(1);
  });

  test("comes between the turns of a run that goes on, also for a follow-up", async () => {
    const echo = tool("echo", () => text("x"));
    const r = await talked({ steps: [asking], more: { tools: [echo] } });
    r.agent.followUp({ text: "after" });
    await r.run("go");
    const types = r.events.map(({ type }) => type);
    expect(types.filter((type) => /turn|compaction|agent/.test(type))).toEqual([
      "agent_start", "turn_start", "turn_end", "compaction_start", "compaction_end", "turn_start", "turn_end", "turn_start", "turn_end", "agent_end", "agent_settled",
    ]);
    expect(r.agent.pendingMessageCount).toBe(0);
  });

  test("does not come when it is off", async () => {
    const r = await talked({ steps: [says("full", full)] });
    r.agent.autoCompaction = false;
    await r.run("go");
    expect(compactions(r.events)).toMatchObject([{ type: "agent_settled" }]);
  });

  test("that did not help is not made again in the same run", async () => {
    const echo = tool("echo", () => text(long("x").repeat(2)));
    const r = await talked({ steps: [asking, asking, asking, asking, says("end", full)], more: { tools: [echo] } });
    await r.run("go");
    expect(r.asked.summaries).toBe(1);
    expect(r.events.filter(({ type }) => type === "notice")).toMatchObject([{ level: "warning", code: "context_full" }]);
  });

  test("that fails is not tried before every turn, and the run goes on", async () => {
    const echo = tool("echo", () => text("x"));
    const r = await talked({ steps: [asking, asking, says("end")], summary: fails({ kind: "auth" }), more: { tools: [echo] } });
    expect(await r.run("go")).toMatchObject({ stopReason: "stop" });
    expect(r.asked.summaries).toBe(1);
  });

  test("is stopped by an abort of the run", async () => {
    const r = await talked({ steps: [says("full", full)], summary: hangs() });
    start(r.agent, "go");
    await r.event(({ type }) => type === "compaction_start");
    await r.agent.abort();
    expect(compactions(r.events)).toMatchObject([{ type: "compaction_start" }, { type: "compaction_end", aborted: true }, { type: "agent_settled", aborted: true, stopReason: "aborted" }]);
  });
});

describe("an overflow", () => {
  const overflow = fails({ kind: "overflow", message: "too long", contextWindow: 5000 });

  test("is compacted once and tried again", async () => {
    const r = await talked({ steps: [overflow, says("recovered")] });
    await r.run("go");
    expect(r.events.map(({ type }) => type).filter((type) => /agent|compaction/.test(type))).toEqual(["agent_start", "agent_end", "compaction_start", "compaction_end", "agent_start", "agent_end", "agent_settled"]);
    expect(compactions(r.events)).toMatchObject([{ reason: "overflow" }, { reason: "overflow", willRetry: true }, { aborted: false, stopReason: "stop" }]);
    expect(r.events.flatMap((event) => (event.type === "agent_end" ? [event.willRetry] : []))).toEqual([true, false]);
    expect(r.agent.contextUsage().contextWindow).toBe(5000);
  });

  test("for ever ends clearly, and the session can be used", async () => {
    const r = await talked({ steps: [overflow, overflow] });
    const before = r.requests.length;
    expect(await r.run("go")).toMatchObject({ type: "agent_settled", stopReason: "error", errorMessage: expect.stringMatching(/^too long \(the context is still too long after it was compacted once/) });
    expect(r.requests.length - before).toBe(3);
    expect(await r.run("next")).toMatchObject({ stopReason: "stop" });
  });

  test("that cannot be compacted ends with its error", async () => {
    const alone = rig({ settings, spec: model, steps: [overflow] });
    expect(await alone.run("go")).toMatchObject({ stopReason: "error", errorMessage: expect.stringMatching(/^too long \(there is nothing to compact: shorten the request/) });
    expect(alone.events.flatMap((event) => (event.type === "agent_end" ? [event.willRetry] : []))).toEqual([false]);
    expect(compactions(alone.events)).toMatchObject([{ type: "agent_settled" }]);
    const failing = await talked({ steps: [overflow], summary: fails({ kind: "auth", message: "bad key" }) });
    expect(await failing.run("go")).toMatchObject({ stopReason: "error", errorMessage: "too long" });
    expect(compactions(failing.events)).toMatchObject([{ type: "compaction_start" }, { type: "compaction_end", aborted: false, willRetry: false, errorMessage: expect.stringContaining("bad key") }, { type: "agent_settled" }]);
  });

  test("is not compacted when that is off: the answer says so", async () => {
    const r = await talked({ steps: [overflow] });
    r.agent.autoCompaction = false;
    expect(await r.run("go")).toMatchObject({ stopReason: "error", errorMessage: "too long (automatic compaction is off)" });
  });
});
