import { expect, test } from "bun:test";
import type { AgentEvent } from "../../src/agent/events.ts";
import { noUsage, textOf } from "../../src/llm/message.ts";
import { Refusal } from "../../src/base/refusal.ts";
import { Random } from "../support/random.ts";
import { asks, assistant, call, diskFull, fails, hangs, rig, says, spec, text, tool, type Step } from "./rig.ts";

const ROUNDS = 1000;

/** Lets other work go on for a short while that the seed decides. */
async function pause(random: Random): Promise<void> {
  if (random.chance(0.2)) return;
  if (random.chance(0.6)) for (let i = random.below(8); i > 0; i--) await Promise.resolve();
  else for (let i = random.below(3); i >= 0; i--) await new Promise((resolve) => setImmediate(resolve));
}

function step(random: Random): Step {
  const inner = random.pick<Step>([
    says("a"), says(`b ${"word ".repeat(random.below(400))}`), says("c", { input: random.below(2000), totalTokens: 4000 }),
    asks(...Array.from({ length: 1 + random.below(3) }, () => call(random.pick(["work", "work", "deaf", "none"])))),
    fails({ kind: random.pick(["server", "overloaded", "auth", "bad_request", "overflow"] as const) }),
    ({ spec }) => ({ message: assistant(spec, { content: [{ type: "text", text: "cut" }, call("work")], stopReason: "error", errorMessage: "reset" }), failure: { kind: "network", message: "reset" } }),
    ({ spec }) => ({ message: assistant(spec, { content: [call("work")], stopReason: "length" }) }),
    random.chance(0.3) ? hangs() : says("d"),
    () => { throw new TypeError("a bug of an adapter"); },
  ]);
  return async (o) => {
    await pause(random);
    if (random.chance(0.5)) o.options.emit({ type: "text_start", contentIndex: 0 }, noUsage());
    await pause(random);
    return inner(o);
  };
}

async function round(seed: number) {
  const random = new Random(seed);
  const isDiskFull = random.chance(0.2);
  // A compaction by hand gives a tool that ignores its abort three seconds, which is too long here.
  const isDeaf = random.chance(0.5);
  const accepted: string[] = [];
  const cleared: string[] = [];
  const ids: string[] = [];
  const tools = [
    tool("work", async (_, { update }) => { await pause(random); update(text("going on")); await pause(random); return text("done"); }),
    tool("deaf", () => (isDeaf && random.chance(0.3) ? new Promise(() => {}) : text("heard"))),
  ];
  const r = rig({ spec: spec("m", { contextWindow: 4000 }), steps: Array.from({ length: 40 }, () => step(random)), tools, settings: {
    retry: { enabled: random.chance(0.8), maxRetries: 2, baseDelayMs: 1, maxDelayMs: 100 },
    compaction: { enabled: random.chance(0.7), reserveTokens: 500, keepRecentTokens: 200 }, steeringMode: random.pick(["all", "one-at-a-time"]), followUpMode: random.pick(["all", "one-at-a-time"]),
  } });
  const append = r.session.append.bind(r.session);
  // A talk that is long enough to be compacted.
  if (random.chance(0.5)) {
    for (let n = 0; n < 6; n++) append({ type: "message", message: assistant(spec(), { content: [{ type: "text", text: "word ".repeat(400) }] }) });
  }
  let isOpen = true;
  r.session.append = (body) => {
    if (isDiskFull && isOpen && random.chance(0.1)) throw diskFull();
    return append(body);
  };
  const waits: Promise<unknown>[] = [];
  const act = (n: number) => {
    const said = { text: `m${n}`, requestId: `r${n}` };
    switch (random.below(17)) {
      case 0: case 1: case 2: {
        const taken = r.agent.prompt({ ...said, streamingBehavior: random.pick(["steer", "followUp", undefined] as const) });
        accepted.push(said.text);
        ids.push(said.requestId);
        if (taken.disposition === "queued") return;
        // The wire writes the response first; what comes in between finds the run accepted.
        if (random.chance(0.5)) taken.start();
        else waits.push(pause(random).then(taken.start));
        return;
      }
      case 3: case 4: r.agent.steer(said); accepted.push(said.text); ids.push(said.requestId); return;
      case 5: case 6: r.agent.followUp(said); accepted.push(said.text); ids.push(said.requestId); return;
      case 7: case 8: { const texts = r.agent.clearQueue(); cleared.push(...texts.steering, ...texts.followUp); return; }
      case 9: waits.push(r.agent.abort(1)); return;
      case 10: r.agent.abortRetry(); return;
      case 11: if (!isDeaf) waits.push(r.agent.compact().catch((error) => { if (!(error instanceof Refusal)) throw error; })); return;
    }
  };
  for (let n = 0; n < 4 + random.below(12); n++) {
    try {
      act(n);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
    await pause(random);
  }
  // Often to its own end, sometimes cut short, as must be what hangs.
  let isAtRest = false;
  void Promise.all([...waits, r.agent.whenIdle()]).then(() => { isAtRest = true; });
  for (let n = random.below(60); n > 0 && !isAtRest; n--) await pause(random);
  await Promise.all([...waits, r.agent.abort(1)]);
  const pending = r.agent.queued;
  isOpen = false;
  return { ...r, isDiskFull, accepted, cleared, ids, pending: [...pending.steering, ...pending.followUp] };
}

/** What must hold of any stream of events. */
function check(events: readonly AgentEvent[]): string[] {
  const faults: string[] = [];
  const open: string[] = [];
  const tools = new Map<string, number>();
  let isCompacting = false;
  let isRunning = false;
  for (const event of events) {
    const fault = (words: string) => faults.push(`${words} at ${event.type}`);
    const begin = (name: string, within: string | undefined) => { if (open.at(-1) !== within) fault(`${name} within ${open.at(-1)}`); open.push(name); };
    const end = (name: string) => { if (open.pop() !== name) fault(`end of ${name}`); };
    if (event.type === "agent_start") begin("agent", undefined);
    else if (event.type === "agent_end") end("agent");
    else if (event.type === "turn_start") begin("turn", "agent");
    else if (event.type === "turn_end") end("turn");
    else if (event.type === "message_start") begin("message", "turn");
    else if (event.type === "message_end") end("message");
    else if (event.type === "message_update" && open.at(-1) !== "message") fault("outside of a message");
    else if (event.type === "tool_execution_start") tools.set(event.toolCallId, 1);
    else if (event.type === "tool_execution_update" && tools.get(event.toolCallId) !== 1) fault("outside of its call");
    else if (event.type === "tool_execution_end" && tools.get(event.toolCallId) !== 1) fault("end of a call without a start");
    else if (event.type === "compaction_start") { if (open.includes("turn") || isCompacting) fault("in the midst of something"); isCompacting = true; }
    else if (event.type === "compaction_end") { if (!isCompacting) fault("without a start"); isCompacting = false; }
    else if (event.type === "agent_settled" && (open.length || !isRunning)) fault(`within ${open}`);
    if (event.type === "agent_start") isRunning = true;
    if (event.type === "agent_settled") isRunning = false;
    if (event.type === "tool_execution_end") tools.set(event.toolCallId, 0);
  }
  if (isRunning || isCompacting) faults.push("never settled");
  if (open.length) faults.push(`never ended: ${open}`);
  for (const [id, state] of tools) if (state) faults.push(`call ${id} never ended`);
  return faults;
}

test(`in ${ROUNDS} random rounds no accepted message is lost or doubled, every run settles once, every call has its result`, async () => {
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const { session, events, isDiskFull, accepted, cleared, pending, ids, agent } = await round(seed);
    const messages = [...session.branch()].flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
    const found = [...messages.flatMap((message) => (message.role === "user" ? [textOf(message.content)] : [])), ...pending, ...cleared];
    const settled = events.flatMap((event) => (event.type === "agent_settled" ? [event] : []));
    const answered = settled.flatMap(({ promptIds = [] }) => promptIds);
    const calls = messages.flatMap((message) => (message.role === "assistant" ? message.content.flatMap((block) => (block.type === "toolCall" ? [block.id] : [])) : []));
    const results = messages.flatMap((message) => (message.role === "toolResult" ? [message.toolCallId] : []));
    expect({
      seed, found: found.sort(), faults: check(events), answered: answered.length, isIdle: agent.isIdle,
      results: isDiskFull ? [] : results,
    }).toEqual({
      seed, found: accepted.sort(), faults: [], answered: ids.length - pending.length - cleared.length, isIdle: true,
      results: isDiskFull ? [] : calls,
    });
    expect(new Set(answered).size).toBe(answered.length);
    expect(answered.every((id) => ids.includes(String(id)))).toBe(true);
  }
}, 60_000);
