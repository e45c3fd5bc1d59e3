import { expect, test } from "bun:test";
import { openai } from "../support/dialects.ts";
import { type Answer, ModelServer, type Piece, type Served } from "../support/model-server.ts";
import { type Rpi, start } from "../support/rpi.ts";
import { asksForSummary, pairingFault, serverModel } from "../support/server-model.ts";
import type { WireRecord } from "../support/wire.ts";

const long = "word ".repeat(400);
const never = new Promise<never>(() => {});
const overflow: Answer = { status: 400, body: [JSON.stringify({ error: { message: "This model's maximum context length is 3000 tokens. However, your messages resulted in 9000 tokens.", code: "context_length_exceeded" } })] };
const answer = (text: string, promptTokens = 10) => [openai.text(text), openai.finish("stop"), openai.usage({ prompt_tokens: promptTokens, completion_tokens: 5, total_tokens: promptTokens + 5 }), openai.done];
type Reply = Answer | Iterable<Piece>;

/** A server that is strict about calls; what it says to summaries and to the talk can be set. */
class Talk implements AsyncDisposable {
  summary: (request: Served) => Reply = () => answer("the summary");
  talk: (request: Served) => Reply = () => answer(long);
  server!: ModelServer;

  static async start(): Promise<Talk> {
    const talk = new Talk();
    talk.server = await ModelServer.start((request) => {
      const fault = pairingFault(request);
      if (fault !== undefined) return { status: 400, body: [JSON.stringify({ error: { message: fault } })] };
      return asksForSummary(request) ? talk.summary(request) : talk.talk(request);
    });
    return talk;
  }

  rpi(model: object = { contextWindow: 100_000, maxTokens: 4000 }, keepRecentTokens = 300): Promise<Rpi> {
    return start({ model: "served/m", agentFiles: serverModel(this.server, model, { compaction: { keepRecentTokens }, retry: { baseDelayMs: 1, maxRetries: 1 } }) });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.server.close();
  }
}

async function talked(rpi: Rpi, prompts = 4): Promise<void> {
  for (let i = 0; i < prompts; i += 1) await rpi.run(`prompt ${i} ${long}`);
}

/** The run and its compactions, in order. */
const course = (records: readonly WireRecord[]) =>
  records.flatMap(({ type, reason }) => (/^(agent|compaction|summarization)_/.test(type) ? [type.startsWith("compaction") ? `${type} ${reason}` : type] : []));

test("a compaction by hand minds the instructions, costs, leaves the size unknown and every entry in the file", async () => {
  await using talk = await Talk.start();
  await using rpi = await talk.rpi({ contextWindow: 100_000, maxTokens: 4000, cost: { input: 1, output: 2 } });
  expect(await rpi.refused("compact")).toMatchObject({ error: "Nothing to compact (session too small)" });
  await talked(rpi);
  const before = await rpi.ok("get_session_stats");
  const { entries } = await rpi.ok("get_entries");
  const from = rpi.mark();
  const result = await rpi.ok("compact", { customInstructions: "mind the gap" });
  expect(result).toEqual({ summary: "the summary", firstKeptEntryId: expect.any(String), tokensBefore: before.contextUsage.tokens, estimatedTokensAfter: expect.any(Number), usage: expect.objectContaining({ totalTokens: 15 }), details: { readFiles: [], modifiedFiles: [] } });
  expect(rpi.records.slice(from, -1)).toEqual([{ type: "compaction_start", reason: "manual" }, { type: "compaction_end", reason: "manual", result, aborted: false, willRetry: false }]);
  expect(talk.server.last.raw).toContain("mind the gap");
  const after = await rpi.ok("get_session_stats");
  expect(after.contextUsage).toEqual({ tokens: null, contextWindow: 100_000, percent: null });
  expect(after.cost).toBeCloseTo(before.cost + result.usage.cost.total, 9);
  const { messages } = await rpi.ok("get_messages");
  expect([messages[0].role, messages.length]).toEqual(["compactionSummary", (await rpi.ok("get_state")).messageCount]);
  expect((await rpi.ok("get_entries")).entries.slice(0, entries.length)).toEqual(entries);
  expect((await rpi.ok("get_fork_messages")).messages).toHaveLength(4);
  await rpi.run("next");
  expect((await rpi.ok("get_session_stats")).contextUsage.tokens).toBe(15);
});

test("a summary that is empty, cut off, failed or aborted changes nothing and stands in nobody's way", async () => {
  await using talk = await Talk.start();
  await using rpi = await talk.rpi();
  await talked(rpi);
  const before = (await rpi.ok("get_messages")).messages;
  const bad: [string, () => Reply][] = [
    ["The model gave an empty summary", () => answer(" \n")],
    ["The summary was cut off", () => [openai.text("half"), openai.finish("length"), openai.done]],
    ["The summary failed: 500 boom", () => ({ status: 500, body: [JSON.stringify({ error: { message: "boom" } })] })],
  ];
  for (const [words, summary] of bad) {
    talk.summary = summary;
    expect(await rpi.refused("compact")).toMatchObject({ code: "unavailable", error: expect.stringContaining(words) });
  }
  expect(rpi.events("summarization_retry_scheduled")).toMatchObject([{ attempt: 1, maxAttempts: 1, errorMessage: "500 boom" }]);
  talk.summary = () => [openai.text("half"), never];
  const from = rpi.mark();
  rpi.send({ id: "c", type: "compact" });
  await rpi.event("compaction_start", { from });
  expect(await rpi.ok("get_state")).toMatchObject({ isCompacting: true, isStreaming: false });
  expect(await rpi.refused("compact")).toMatchObject({ code: "busy" });
  expect(await rpi.refused("prompt", { message: "now" })).toMatchObject({ code: "busy", error: expect.stringContaining("streamingBehavior") });
  await rpi.ok("abort");
  expect(await rpi.response("c")).toMatchObject({ success: false, code: "cancelled" });
  expect(rpi.events("compaction_end", from)).toEqual([{ type: "compaction_end", reason: "manual", aborted: true, willRetry: false }]);
  expect((await rpi.ok("get_state")).isCompacting).toBe(false);
  expect((await rpi.ok("get_messages")).messages).toEqual(before);
  expect((await rpi.run("next")).settled).toMatchObject({ stopReason: "stop" });
});

test("a compaction during a run aborts it first, and what is queued meanwhile runs afterwards, also behind the end of input", async () => {
  await using talk = await Talk.start();
  await using rpi = await talk.rpi();
  await talked(rpi);
  talk.talk = ({ raw }) => (raw.includes("stall") ? [openai.text("half"), never] : answer("fine"));
  const { from } = await rpi.begin("stall");
  await rpi.event("message_update", { from });
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const { promise: go, resolve: release } = Promise.withResolvers<void>();
  talk.summary = () => {
    ask();
    return [openai.text("the "), go, ...answer("summary")];
  };
  rpi.send({ id: "c", type: "compact" });
  await asked;
  talk.talk = () => answer("fine");
  rpi.send({ id: "f", type: "follow_up", message: "afterwards" });
  await rpi.response("f");
  rpi.closeStdin();
  release();
  expect(await rpi.exit()).toEqual({ code: 0, signal: null });
  expect(course(rpi.records.slice(from))).toEqual(["agent_start", "agent_end", "agent_settled", "compaction_start manual", "compaction_end manual", "agent_start", "agent_end", "agent_settled"]);
  expect(rpi.events("agent_settled", from)).toMatchObject([{ aborted: true }, { aborted: false, promptIds: ["f"], stopReason: "stop" }]);
  expect(rpi.records.indexOf(await rpi.response("c"))).toBeLessThan(rpi.records.findLastIndex(({ type }) => type === "agent_start"));
});

test("a context that is nearly full is compacted before it does not fit, and not when that is off", async () => {
  await using talk = await Talk.start();
  talk.talk = ({ raw }) => answer(long, Math.ceil(raw.length / 4));
  await using rpi = await talk.rpi({ contextWindow: 8000, maxTokens: 1000 }, 1000);
  await rpi.ok("set_auto_compaction", { enabled: false });
  await talked(rpi, 5);
  expect(rpi.events("compaction_start")).toEqual([]);
  await rpi.ok("set_auto_compaction", { enabled: true });
  const { records } = await rpi.run(`one more ${long}`);
  expect(course(records)).toEqual(["compaction_start threshold", "compaction_end threshold", "agent_start", "agent_end", "agent_settled"]);
  const summaries = talk.server.requests.filter(asksForSummary);
  expect(summaries).toHaveLength(1);
  expect(summaries[0]!.raw.length / 4 + summaries[0]!.body.max_tokens).toBeLessThan(8000);
});

test("an overflow is compacted once and tried once; then it ends clearly, and the session can be used", async () => {
  await using talk = await Talk.start();
  await using rpi = await talk.rpi({}, 2000);
  await talked(rpi);
  expect((await rpi.ok("get_session_stats")).contextUsage).toMatchObject({ contextWindow: null, percent: null });
  let refusals = 1;
  talk.talk = () => (refusals-- > 0 ? overflow : answer("fine"));
  const saved = await rpi.run("once");
  expect(course(saved.records)).toEqual(["agent_start", "agent_end", "compaction_start overflow", "compaction_end overflow", "agent_start", "agent_end", "agent_settled"]);
  expect(saved).toMatchObject({ text: "fine", settled: { stopReason: "stop" } });
  // The server's words told how large the window is.
  expect((await rpi.ok("get_session_stats")).contextUsage.contextWindow).toBe(3000);
  talk.talk = () => answer(long);
  await talked(rpi, 2);
  talk.talk = () => overflow;
  const lost = await rpi.run("for ever");
  expect(course(lost.records).filter((step) => step.startsWith("compaction_start"))).toHaveLength(1);
  expect(lost.settled).toMatchObject({ stopReason: "error", errorMessage: expect.stringContaining("still too long after it was compacted once") });
  talk.talk = () => answer("fine");
  expect(await rpi.run("again")).toMatchObject({ text: "fine", settled: { stopReason: "stop" } });
});

test("a first prompt larger than the window ends at once, says what helps, and the next one works", async () => {
  await using talk = await Talk.start();
  await using rpi = await talk.rpi({ contextWindow: 3000, maxTokens: 500 });
  talk.talk = ({ raw }) => (raw.length > 12_000 ? overflow : answer("fine"));
  const { records, settled } = await rpi.run(long.repeat(8));
  expect(course(records)).toEqual(["agent_start", "agent_end", "agent_settled"]);
  expect(records.find(({ type }) => type === "agent_end")).toMatchObject({ willRetry: false });
  expect(settled).toMatchObject({ stopReason: "error", errorMessage: expect.stringMatching(/there is nothing to compact: shorten the request/) });
  expect(await rpi.run("a short one")).toMatchObject({ text: "fine", settled: { stopReason: "stop" } });
});

test("the files that were read and changed are carried from one compaction to the next, also over a restart", async () => {
  await using talk = await Talk.start();
  await using first = await talk.rpi();
  for (const name of "abc") first.sandbox.write(name, `file ${name}`);
  talk.talk = ({ body, n }) => {
    const { role, content } = body.messages.at(-1);
    const [, name, file] = (role === "user" && /^(read|write) (\w)$/.exec(typeof content === "string" ? content : content[0].text)) || [];
    if (name === undefined) return answer(long);
    return [openai.call(0, `call_${n}`, name, name === "read" ? { path: file } : { path: file, content: "new" }), openai.finish("tool_calls"), openai.done];
  };
  await first.run("read a");
  await first.run("write b");
  await talked(first, 1);
  expect((await first.ok("compact")).details).toEqual({ readFiles: ["a"], modifiedFiles: ["b"] });
  await first.run("read c");
  await first.finish();
  await using second = await start({ sandbox: first.sandbox, model: "served/m", args: ["-c"] });
  await second.run("write a");
  await talked(second, 1);
  expect((await second.ok("compact")).details).toEqual({ readFiles: ["c"], modifiedFiles: ["b", "a"] });
});
