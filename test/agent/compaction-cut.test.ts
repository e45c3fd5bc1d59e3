import { describe, expect, test } from "bun:test";
import { type Cut, findCut } from "../../src/agent/compaction-cut.ts";
import { estimateMessage } from "../../src/agent/compaction-estimate.ts";
import type { ContextItem } from "../../src/session/context.ts";
import type { AgentMessage } from "../../src/session/message.ts";
import { Random } from "../support/random.ts";
import { assistant, call, itemsOf, result, summaryOf, user, words } from "./transcripts.ts";

/** What a cut keeps and where it splits, in short. */
const short = (cut: Cut | undefined) => cut && { keeps: cut.firstKeptEntryId, summarised: cut.toSummarise.length, ...(cut.splitAt === undefined ? {} : { splitAt: cut.splitAt }) };
/** A message of exactly so many tokens. */
const u = (tokens: number) => user(words(tokens - 4));
const a = (tokens: number) => assistant(words(tokens - 4));
const r = (id: string, tokens: number) => result(id, words(tokens - 4));
const calls = (...ids: string[]) => assistant(ids.map((id) => call(id, "bash")));

describe("a cut", () => {
  test("is not made when everything fits, or there is nothing", () => {
    expect(findCut([], 1000)).toBeUndefined();
    expect(findCut(itemsOf([u(400), a(600)]), 1000)).toBeUndefined();
    expect(findCut(itemsOf([summaryOf(words(5000)), u(400), a(600)]), 1000)).toBeUndefined();
  });

  test("goes between turns where that keeps enough", () => {
    const items = itemsOf([u(100), a(900), u(100), a(300), u(100), a(400)]);
    expect(findCut(items, 1000)).toEqual({ firstKeptEntryId: "e2", toSummarise: items.slice(0, 2).map((item) => item.message), summarisedTokens: 1000, keptTokens: 900 });
  });

  test("goes through a turn that is larger than the budget, after its last whole step", () => {
    const items = itemsOf([u(100), a(100), u(100), calls("1"), r("1", 500), calls("2"), r("2", 500), calls("3"), r("3", 300), a(100)]);
    expect(short(findCut(items, 1000))).toEqual({ keeps: "e5", summarised: 5, splitAt: 2 });
  });

  test("goes through the turn before, when the last turn alone would be little", () => {
    expect(short(findCut(itemsOf([u(100), a(500), a(900), u(10), a(10)]), 1000))).toEqual({ keeps: "e2", summarised: 2, splitAt: 0 });
  });

  test("keeps a last step that is larger than the budget, with its call", () => {
    expect(short(findCut(itemsOf([u(100), a(100), calls("1", "2"), r("1", 5000), r("2", 10)]), 1000))).toEqual({ keeps: "e2", summarised: 2, splitAt: 0 });
    expect(short(findCut(itemsOf([u(100), a(100), u(5000)]), 1000))).toEqual({ keeps: "e2", summarised: 2 });
  });

  test("is not made when a first prompt alone is larger than the window, and is once another follows", () => {
    const failure = assistant([], { stopReason: "error" });
    expect(findCut(itemsOf([u(200_000)]), 20_000, { isOverflow: true })).toBeUndefined();
    expect(findCut(itemsOf([u(200_000), failure]), 20_000, { isOverflow: true })).toBeUndefined();
    expect(short(findCut(itemsOf([u(200_000), failure, u(10)]), 20_000, { isOverflow: true }))).toEqual({ keeps: "e2", summarised: 2 });
  });

  test("keeps what a failed answer was to answer", () => {
    expect(short(findCut(itemsOf([u(100), a(900), u(3000), assistant([], { stopReason: "error" })]), 1000))).toEqual({ keeps: "e2", summarised: 2 });
  });

  test("after an overflow keeps at most half, even if the estimates say that all fits", () => {
    const items = itemsOf([u(100), a(100), u(100), a(100)]);
    expect(findCut(items, 20_000)).toBeUndefined();
    expect(short(findCut(items, 20_000, { isOverflow: true }))).toEqual({ keeps: "e2", summarised: 2 });
  });

  test("begins behind the earlier summary and carries it", () => {
    const cut = findCut(itemsOf([summaryOf("earlier"), u(100), a(900), u(100), a(800)]), 1000);
    expect([short(cut), cut?.previousSummary]).toEqual([{ keeps: "e3", summarised: 2 }, "earlier"]);
  });

  test("is not made for a gain that is less than asked for", () => {
    const items = itemsOf([u(10), a(10), u(100), a(2000)]);
    expect(short(findCut(items, 1000))).toEqual({ keeps: "e3", summarised: 3, splitAt: 2 });
    expect(findCut(items, 1000, { minTokens: 500 })).toBeUndefined();
  });

  test("tells results apart that answer calls of the same id", () => {
    const items = itemsOf([u(10), calls("0"), r("0", 600), calls("0"), r("0", 600), a(100)]);
    expect(short(findCut(items, 1000))).toEqual({ keeps: "e3", summarised: 3, splitAt: 0 });
  });
});

describe("any cut", () => {
  const rounds = 3000;

  test("parts no call from its results, loses nothing, and keeps within the budget where that can be", () => {
    for (let seed = 1; seed <= rounds; seed += 1) {
      const random = new Random(seed);
      const items = itemsOf(randomTalk(random));
      const budget = 1 + random.below(4000);
      const isOverflow = random.chance(0.2);
      checkCut(items, budget, isOverflow, findCut(items, budget, { isOverflow }), `seed ${seed}`);
    }
  });

  test("brings a conversation to its end: each makes it shorter until nothing is left to summarise", () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const random = new Random(seed);
      let items = itemsOf(randomTalk(random));
      for (let cut = findCut(items, 500); cut; cut = findCut(items, 500)) {
        const at = items.findIndex((item) => item.entryId === cut!.firstKeptEntryId);
        const next = [{ entryId: `s${items.length}`, message: summaryOf("so far") }, ...items.slice(at)];
        const had = items.filter((item) => item.message.role !== "compactionSummary").length;
        items = next;
        expect(items.length - 1, `seed ${seed}`).toBeLessThan(had);
      }
    }
  });
});

function checkCut(items: ContextItem[], keepTokens: number, isOverflow: boolean, cut: Cut | undefined, where: string): void {
  const messages = items.map((item) => item.message);
  const begin = messages[0]?.role === "compactionSummary" ? 1 : 0;
  const tokens = (from: number, to = messages.length) => messages.slice(from, to).reduce((sum, message) => sum + estimateMessage(message), 0);
  const budget = isOverflow ? Math.min(keepTokens, Math.floor(tokens(begin) / 2)) : keepTokens;
  const places = messages.flatMap((message, i) => (i > begin && message.role !== "toolResult" && !isEmptyFailure(message) && isWhole(messages, i) ? [i] : []));
  if (!cut) {
    // Everything fits, or wherever the cut went it would gain nothing.
    const last = places.at(-1);
    if (tokens(begin) > budget && last !== undefined) expect(tokens(begin, last), `${where}: something could have been summarised`).toBe(0);
    return;
  }
  const at = items.findIndex((item) => item.entryId === cut.firstKeptEntryId);
  expect(places, `${where}: an allowed place`).toContain(at);
  expect(cut.toSummarise, where).toEqual(messages.slice(begin, at));
  expect([cut.summarisedTokens, cut.keptTokens], where).toEqual([tokens(begin, at), tokens(at)]);
  expect(cut.summarisedTokens, where).toBeGreaterThan(0);
  if (cut.keptTokens > budget) expect(at, `${where}: nothing later was possible`).toBe(places.at(-1)!);
  if (cut.splitAt !== undefined) expect(["user", "custom"], where).toContain(cut.toSummarise[cut.splitAt]!.role);
}

const isEmptyFailure = (message: AgentMessage) => message.role === "assistant" && (message.stopReason === "error" || message.content.length === 0);

/** Whether no result from `at` on answers a call before it; the nearest call of an id is the one that is answered. */
function isWhole(messages: readonly AgentMessage[], at: number): boolean {
  return messages.every((message, i) => {
    if (i < at || message.role !== "toolResult") return true;
    const asked = messages.findLastIndex((one, k) => k < i && one.role === "assistant" && one.content.some((block) => block.type === "toolCall" && block.id === message.toolCallId));
    return asked < 0 || asked >= at;
  });
}

/** Turns with parallel calls, reused ids, missing and stray results, messages between call and result, failures. */
function randomTalk(random: Random): AgentMessage[] {
  const size = () => 5 + random.below(random.chance(0.1) ? 3000 : 200);
  const messages: AgentMessage[] = random.chance(0.3) ? [summaryOf(words(size()))] : [];
  for (let turn = random.below(6); turn >= 0; turn -= 1) {
    messages.push(random.chance(0.9) ? u(size()) : { role: "custom", customType: "loop", content: words(size()), display: true, timestamp: 1 });
    for (let step = random.below(4); step > 0; step -= 1) {
      const ids = Array.from({ length: 1 + random.below(3) }, (_, i) => (random.chance(0.5) ? String(i) : `${turn}-${step}-${i}`));
      messages.push(calls(...ids));
      for (const id of ids) {
        if (random.chance(0.1)) messages.push(u(size()));
        if (random.chance(0.9)) messages.push(r(random.chance(0.95) ? id : "stray", size()));
      }
    }
    if (random.chance(0.1)) messages.push(assistant([], { stopReason: "error" }));
    if (random.chance(0.2)) messages.push({ role: "bashExecution", command: "ls", output: words(size()), cancelled: false, truncated: false, excludeFromContext: random.chance(0.5), timestamp: 1 });
    if (random.chance(0.8)) messages.push(a(size()));
  }
  return messages;
}
