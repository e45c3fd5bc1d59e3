import { expect, test } from "bun:test";
import { openai } from "../support/dialects.ts";
import { ModelServer, type Answer, type Served } from "../support/model-server.ts";
import { Random } from "../support/random.ts";
import { start } from "../support/rpi.ts";
import { textOf, type WireRecord } from "../support/wire.ts";
import { PNG } from "../llm/transcript.ts";

const ROUNDS = 60;

/** What a strict server says against the order of messages; undefined when it takes them. */
function fault({ body }: Served): string | undefined {
  const seen = new Set<string>();
  let open = new Set<string>();
  for (const message of body.messages) {
    if (message.role === "tool") {
      if (!open.delete(message.tool_call_id)) return `a result without its call: ${message.tool_call_id}`;
      continue;
    }
    if (open.size) return `no result for ${[...open]}`;
    if (message.content === "" || message.content?.length === 0) return `an empty message of ${message.role}`;
    open = new Set((message.tool_calls ?? []).map((call: { id: string }) => call.id));
    for (const id of open) if (seen.has(id)) return `twice the id ${id}`;
    for (const id of open) seen.add(id);
  }
  return open.size ? `no result for ${[...open]}` : undefined;
}

/** Words, calls, failures and broken connections, by chance. */
function answer(random: Random, served: Served): Answer {
  const words = Array.from({ length: random.below(5) }, (_, n) => [openai.text(`w${n} `), ...(random.chance(0.3) ? [Bun.sleep(random.below(6))] : [])]).flat();
  const usage = openai.usage({ prompt_tokens: random.below(4000), completion_tokens: 5 });
  const call = (n: number) => openai.call(n, `c${served.n}-${n}`, random.pick(["bash", "bash", "read", "gone"]), { command: "sleep 0.01; echo x", path: "x" });
  return random.pick<() => Answer>([
    () => ({ status: 500, body: ["broken"] }),
    () => ({ status: 429, headers: { "retry-after": "0" } }),
    () => ({ status: 400, body: ["no"] }),
    () => ({ body: words, end: "reset" }),
    ...Array.from({ length: 3 }, () => () => ({ body: [...words, ...Array.from({ length: 1 + random.below(3) }, (_, n) => call(n)), openai.finish(random.pick(["tool_calls", "tool_calls", "length"])), usage, openai.done] })),
    ...Array.from({ length: 5 }, () => () => ({ body: [...words, openai.finish("stop"), usage, openai.done] })),
  ])();
}

function request(random: Random, id: string): WireRecord {
  const said = { id, message: `message ${id}`, ...(random.chance(0.3) && { images: [PNG] }) };
  return random.pick<WireRecord>([
    ...Array.from({ length: 5 }, () => ({ type: "prompt", ...said, streamingBehavior: random.pick([null, "steer", "followUp"]) })),
    ...Array.from({ length: 3 }, () => ({ type: "steer", ...said })),
    ...Array.from({ length: 3 }, () => ({ type: "follow_up", ...said })),
    { type: "abort", id }, { type: "abort", id }, { type: "abort_retry", id }, { type: "clear_queue", id }, { type: "compact", id },
    { type: "bash", id, command: "echo hi" }, { type: "set_auto_retry", id, enabled: random.chance(0.7) },
  ]);
}

test(`in ${ROUNDS} random rounds over the pipes every message is delivered once or handed back, whole`, async () => {
  let random = new Random(1);
  const faults: string[] = [];
  await using server = await ModelServer.start((served) => {
    const wrong = fault(served);
    if (wrong) faults.push(wrong);
    return answer(random, served);
  });
  const model = { id: "m", input: ["text", "image"], contextWindow: 8000, maxTokens: 500 };
  await using rpi = await start({
    model: "local/m",
    files: { x: "hello\n" },
    agentFiles: {
      "models.json": { providers: { local: { baseUrl: `${server.url}/v1`, api: "openai-completions", models: [model] } } },
      "settings.json": { retry: { maxRetries: 2, baseDelayMs: 3 }, compaction: { reserveTokens: 1500, keepRecentTokens: 500 } },
    },
  });
  for (let round = 1; round <= ROUNDS; round++) {
    random = new Random(round);
    const from = rpi.mark();
    await rpi.ok("new_session");
    for (const type of ["set_steering_mode", "set_follow_up_mode"]) await rpi.ok(type, { mode: random.pick(["all", "one-at-a-time"]) });
    const sent = Array.from({ length: 5 + random.below(14) }, (_, n) => request(random, `${round}.${n}`));
    for (let at = 0; at < sent.length; ) {
      const burst = 1 + random.below(3);
      rpi.send(...sent.slice(at, at + burst));
      at += burst;
      if (random.chance(0.7)) await Bun.sleep(random.below(25));
    }
    const responses = await Promise.all(sent.map(({ id }) => rpi.response(id as string, from)));
    // What waits for the end of a compaction begins right behind the answer to it.
    do {
      await rpi.event(() => isAtRest(rpi.records, from), { from, what: `the end of round ${round}` });
      await rpi.ok("get_state");
    } while (!isAtRest(rpi.records, from));
    const cleared = await rpi.ok("clear_queue");
    const { entries } = await rpi.ok("get_entries");
    const messages: any[] = entries.flatMap((entry: { type: string; message: unknown }) => (entry.type === "message" ? [entry.message] : []));
    const delivered = messages.filter(({ role }) => role === "user");
    const accepted = sent.filter(({ message }, n) => message !== undefined && responses[n]!["success"]);
    const handedBack = [cleared, ...responses.flatMap((one) => (one["command"] === "clear_queue" ? [one["data"]] : []))].flatMap(({ steering, followUp }) => [...steering, ...followUp]);
    const answered = rpi.events("agent_settled", from).flatMap((event) => event["promptIds"] ?? []);
    const calls = messages.flatMap(({ role, content }) => (role === "assistant" ? content.filter((block: any) => block.type === "toolCall").map((block: any) => block.id) : []));
    expect({
      round, faults,
      found: [...delivered.map(textOf), ...handedBack].sort(),
      answered: answered.sort(),
      images: delivered.map(({ content }) => content.filter((block: any) => block.type === "image").length),
      results: messages.filter(({ role }) => role === "toolResult").map(({ toolCallId }) => toolCallId),
      bugs: responses.filter(({ code }) => code === "internal"), stderr: rpi.stderr,
    } as object).toEqual({
      round, faults: [],
      found: accepted.map(({ message }) => message).sort(),
      answered: accepted.filter(({ message }) => delivered.some((one) => textOf(one) === message)).map(({ id }) => id).sort(),
      images: delivered.map((one) => (sent.find(({ message }) => message === textOf(one))!["images"] as [] | undefined)?.length ?? 0),
      results: calls,
      bugs: [], stderr: "",
    });
  }
}, 60_000);

/** Whether everything that was begun has told its end. */
function isAtRest(records: readonly WireRecord[], from: number): boolean {
  let isRunning = false;
  let compactions = 0;
  for (const { type } of records.slice(from)) {
    if (type === "agent_start") isRunning = true;
    else if (type === "agent_settled") isRunning = false;
    else if (type === "compaction_start") compactions++;
    else if (type === "compaction_end") compactions--;
  }
  return !isRunning && compactions === 0;
}
