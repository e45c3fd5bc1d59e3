import { expect, test } from "bun:test";
import { existsSync, readFileSync, truncateSync } from "node:fs";
import { openai } from "../support/dialects.ts";
import { ModelServer } from "../support/model-server.ts";
import { SessionManager } from "../support/pi.ts";
import { Random } from "../support/random.ts";
import { type FauxStep, type Rpi, start } from "../support/rpi.ts";
import { Sandbox } from "../support/sandbox.ts";
import { pairingFault, serverModel } from "../support/server-model.ts";
import { textOf, type WireRecord } from "../support/wire.ts";

const entriesOf = (file: string): any[] => (existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line)) : []);
const userTexts = async (rpi: Rpi): Promise<string[]> => (await rpi.ok("get_messages")).messages.filter(({ role }: { role: string }) => role === "user").map(textOf);

/** Whether a session's file has what a record tells of. */
function isKept(record: WireRecord, entries: any[]): boolean {
  const has = (type: string, field: string, value: unknown) => entries.some((entry) => entry.type === type && Bun.deepEquals(entry[field], value));
  switch (record.type) {
    case "message_end":
      return has("message", "message", record["message"]);
    case "session_info_changed":
      return has("session_info", "name", record["name"]);
    case "queue_update": {
      const texts = entries.flatMap((entry) => (entry.type === "queue" && entry.op === "add" ? [textOf(entry)] : []));
      return [...record["steering"], ...record["followUp"]].every((text) => texts.includes(text));
    }
    case "todo_updated":
      return entries.some(({ type }) => type === "todo_snapshot");
    case "compaction_end":
      return record["result"] === undefined || has("compaction", "summary", record["result"].summary);
    default:
      return true;
  }
}

test("whatever is told stands in the file before", async () => {
  const early: string[] = [];
  let file: string | undefined;
  const onRecord = (record: WireRecord) => {
    if (record.type === "session_started") file = record["data"].sessionFile;
    else if (!isKept(record, entriesOf(file!))) early.push(record.type);
  };
  const call = { toolCall: { name: "bash", arguments: { command: "echo hi" } } };
  await using rpi = await start({ onRecord, turns: [[{ text: "one" }, call, call], [{ text: "two" }], [{ text: "three" }], [{ text: "four" }], [{ text: "a summary" }]], agentFiles: { "settings.json": { compaction: { keepRecentTokens: 1 } } } });
  expect(existsSync((await rpi.ok("get_state")).sessionFile)).toBe(false);
  rpi.send({ type: "prompt", message: "go" }, { type: "steer", message: "s" }, { type: "follow_up", message: "f" }, { type: "set_session_name", name: "n" }, { type: "todo_op", op: "init", items: ["a"] });
  await rpi.settled();
  await rpi.ok("compact");
  expect(early).toEqual([]);
});

test("a session is taken up as it was left, its queue too, which is delivered once", async () => {
  const ends: ((rpi: Rpi) => unknown)[] = [(rpi) => rpi.finish(), (rpi) => rpi.signal("SIGTERM"), (rpi) => rpi.signal("SIGHUP"), (rpi) => rpi.signal("SIGKILL")];
  for (const end of ends) {
    using sandbox = new Sandbox();
    await using first = await start({ sandbox, args: ["--on-eof", "abort", "--name", "long talk"], turns: [[{ text: "half" }, { delayMs: 60_000 }]] });
    await first.ok("todo_op", { op: "init", phase: "Plan", items: ["a", "b"] });
    const { from } = await first.begin("go");
    await first.event("message_update", { from });
    await first.ok("steer", { message: "sooner" });
    await first.ok("follow_up", { message: "later" });
    const { sessionId, sessionName, todoPhases, model } = await first.ok("get_state");
    void end(first);
    await first.exit();
    await using second = await start({ sandbox, model: null, args: ["-c"], turns: [[{ text: "a" }], [{ text: "b" }], [{ text: "c" }]] });
    expect(await second.ok("get_state")).toMatchObject({ sessionId, sessionName, todoPhases, model, pendingMessageCount: 2 });
    expect(second.events("queue_update")).toEqual([{ type: "queue_update", steering: ["sooner"], followUp: ["later"] }]);
    await second.run("next");
    expect(await userTexts(second)).toEqual(["go", "next", "sooner", "later"]);
    await second.finish();
    await using third = await start({ sandbox, args: ["-c"] });
    expect((await third.ok("get_state")).pendingMessageCount).toBe(0);
  }
});

test("the model and the level that a session began with are in its file before all else, also with a name", async () => {
  using sandbox = new Sandbox();
  sandbox.writeAgent("models.json", { providers: { mine: { baseUrl: "http://127.0.0.1:9/v1", api: "openai-completions", models: [{ id: "plain" }, { id: "deep", reasoning: true }] } } });
  await using first = await start({ sandbox, model: "mine/deep", args: ["--thinking", "high", "--name", "named"] });
  const { sessionFile } = await first.ok("get_state");
  await first.finish();
  expect(entriesOf(sessionFile).map(({ type }) => type)).toEqual(["session", "model_change", "thinking_level_change", "session_info"]);
  await using second = await start({ sandbox, model: null, args: ["-c"] });
  expect(await second.ok("get_state")).toMatchObject({ model: { id: "deep" }, thinkingLevel: "high", sessionName: "named" });
  await second.finish();
  // The level of a flag is for that run, unless it is asked for by a command as well.
  for (const [isAsked, level] of [[false, "high"], [true, "low"]] as const) {
    await using flagged = await start({ sandbox, model: null, args: ["-c", "--thinking", "low"] });
    expect((await flagged.ok("get_state")).thinkingLevel).toBe("low");
    if (isAsked) await flagged.ok("set_thinking_level", { level: "low" });
    await flagged.finish();
    await using next = await start({ sandbox, model: null, args: ["-c"] });
    expect((await next.ok("get_state")).thinkingLevel).toBe(level);
    await next.finish();
  }
});

test("after a kill -9 in the middle of a tool a strict provider takes the next prompt, a fork and a clone, and the file only grows", async () => {
  using sandbox = new Sandbox();
  await using server = await ModelServer.start((request) => {
    const fault = pairingFault(request);
    if (fault !== undefined) return { status: 400, body: [JSON.stringify({ error: { message: fault } })] };
    if (request.n > 1) return openai.answer("fine");
    return [openai.calls({ index: 0, id: "c1", type: "function", function: { name: "bash", arguments: '{"command":"echo quick"}' } }, { index: 1, id: "c2", type: "function", function: { name: "bash", arguments: '{"command":"sleep 60"}' } }), openai.finish("tool_calls"), openai.done];
  });
  await using first = await start({ sandbox, model: "served/m", agentFiles: serverModel(server) });
  const { from } = await first.begin("go");
  await first.event("tool_execution_end", { from });
  const { sessionFile } = await first.ok("get_state");
  first.signal("SIGKILL");
  await first.exit();
  const before = readFileSync(sessionFile, "utf8");
  await using second = await start({ sandbox, model: "served/m", args: ["-c"] });
  expect(await second.run("next")).toMatchObject({ text: "fine", settled: { stopReason: "stop" } });
  expect(readFileSync(sessionFile, "utf8")).toStartWith(before);
  const { messages } = await second.ok("get_fork_messages");
  await second.ok("fork", { entryId: messages[1].entryId });
  expect((await second.run("from there")).settled).toMatchObject({ stopReason: "stop" });
  await second.ok("clone");
  expect((await second.run("and again")).settled).toMatchObject({ stopReason: "stop" });
  expect(second.events("notice")).toEqual([]);
});

test("a kill -9 at any moment loses nothing that was told, and delivers nothing twice", async () => {
  const random = new Random(20);
  using sandbox = new Sandbox();
  for (let round = 0; round < 25; round += 1) {
    const turns = Array.from({ length: 60 }, (): FauxStep[] => [
      { text: "t".repeat(random.below(3000)) },
      ...(random.chance(0.4) ? [{ toolCall: { name: "bash", arguments: { command: "echo hi" } } }] : []),
    ]);
    await using rpi = await start({ sandbox, args: round % 5 === 0 ? [] : ["-c"], turns, checksShapes: false });
    const lines = Array.from({ length: 10 }, (_, i) => random.pick<object>([
      { type: "prompt", message: `prompt ${round}.${i}`, streamingBehavior: random.pick(["steer", "followUp"]) },
      { type: "steer", message: `steer ${round}.${i}` },
      { type: "set_session_name", name: `name ${round}.${i}` },
      { type: "todo_op", op: "init", items: [`task ${round}.${i}`] },
      { type: "clear_queue" },
      { type: "bash", command: "echo hi" },
      { type: "abort" },
    ]));
    rpi.send(...lines);
    const enough = random.below(120);
    await rpi.event(() => rpi.records.length > enough || rpi.events("response").length === lines.length);
    rpi.signal("SIGKILL");
    await rpi.exit();
    const entries = entriesOf(rpi.records[0]!["data"].sessionFile);
    expect(rpi.records.filter((record) => !isKept(record, entries))).toEqual([]);
    const gone = entries.flatMap(({ type, op, ids, queueId }) => (type === "message" && queueId ? [queueId] : op === "clear" ? ids : []));
    expect(gone.length).toBe(new Set(gone).size);
  }
}, 60_000);

test("of two processes on one session the second is refused with the first one's name, in each order, and the file stays whole", async () => {
  using sandbox = new Sandbox();
  await using begun = await start({ sandbox, args: ["--session-id", "shared"], turns: [[{ text: "hi" }]] });
  const { sessionFile: file } = await begun.ok("get_state");
  await begun.finish();
  const turns = [[{ text: "hi" }]];
  const refusal = (owner: Rpi) => `The session ${file} is in use: process ${owner.pid} has it open and locked. End that one first, or fork the session.`;
  // Launch against launch, switch against launch, launch against switch, switch against switch.
  for (const [first, second] of [["launch", "launch"], ["switch", "launch"], ["launch", "switch"], ["switch", "switch"]]) {
    await using owner = await start({ sandbox, turns, args: first === "launch" ? ["--session", file] : [] });
    if (first === "switch") await owner.ok("switch_session", { sessionPath: file });
    await owner.ok("get_state");
    await using other = await start({ sandbox, turns, args: second === "launch" ? ["--session", file] : [] });
    if (second === "launch") {
      expect(await other.exit()).toEqual({ code: 1, signal: null });
      expect(other.records).toMatchObject([{ type: "response", command: "initialize", success: false, code: "busy", error: refusal(owner) }]);
    } else expect(await other.refused("switch_session", { sessionPath: file })).toEqual({ code: "busy", error: refusal(owner) });
    await owner.run(`${first} before ${second}`);
    // A death gives it free.
    owner.signal("SIGKILL");
    await owner.exit();
    await using next = await start({ sandbox, turns, args: ["--session", file] });
    expect((await userTexts(next)).at(-1)).toBe(`${first} before ${second}`);
    await next.finish();
  }
  expect(entriesOf(file).filter(({ type }) => type === "message")).toHaveLength(8);
});

test("pi goes on with a session of ours, queue, todos and compaction in it, and we go on with that", async () => {
  using sandbox = new Sandbox();
  const settings = { "settings.json": { compaction: { keepRecentTokens: 1 } } };
  await using first = await start({ sandbox, agentFiles: settings, turns: [[{ text: "one" }], [{ text: "two" }], [{ text: "what was said" }], [{ text: "three" }]] });
  await first.run("first");
  await first.run("second");
  await first.ok("todo_op", { op: "init", items: ["a"] });
  await first.ok("compact");
  await first.ok("steer", { message: "waits" });
  await first.run("third");
  await first.ok("follow_up", { message: "waits on" });
  const { sessionFile, sessionId } = await first.ok("get_state");
  const messages = (await first.ok("get_messages")).messages.slice(1).map(textOf);
  await first.finish();
  const pi = SessionManager.open(sessionFile);
  expect(pi.getSessionId()).toBe(sessionId);
  const seen = pi.buildSessionContext().messages.filter(({ role }) => role !== "system");
  expect(seen[0]).toMatchObject({ role: "compactionSummary", summary: "what was said" });
  expect(seen.slice(1).map(textOf)).toEqual(messages);
  pi.appendMessage({ role: "user", content: [{ type: "text", text: "said in pi" }], timestamp: 1 });
  await using second = await start({ sandbox, args: ["-c"] });
  expect((await second.ok("get_messages")).messages.slice(1).map(textOf)).toEqual([...messages, "said in pi"]);
  expect(await second.ok("get_state")).toMatchObject({ pendingMessageCount: 1, todoPhases: [{ tasks: [{ content: "a" }] }] });
  expect(second.events("notice")).toEqual([]);
});

test("a session file that another program cuts short is told as that, and a new session can be had", async () => {
  using sandbox = new Sandbox();
  const turns = [[{ text: "an answer that is not kept in memory ".repeat(3000) }], [{ text: "fine" }]];
  await using first = await start({ sandbox, turns });
  await first.run("first");
  const { sessionFile } = await first.ok("get_state");
  await first.finish();
  await using second = await start({ sandbox, args: ["-c"], turns: turns.slice(1) });
  await second.ok("get_state");
  truncateSync(sessionFile, 300);
  const changed = { code: "unavailable", error: expect.stringContaining("another program has changed the session file") };
  for (const type of ["get_entries", "get_messages", "clone"]) expect(await second.refused(type)).toEqual(changed);
  expect((await second.run("next")).settled).toMatchObject({ stopReason: "error", errorMessage: changed.error });
  await second.ok("new_session");
  expect((await second.run("next")).text).toBe("fine");
  expect(second.stderr).not.toContain("a bug");
});
