import { afterEach, beforeEach, expect, test } from "bun:test";
import path from "node:path";
import { RpcClient } from "../../node_modules/@earendil-works/pi-coding-agent/dist/modes/rpc/rpc-client.js";
import { leftovers } from "../support/leftovers.ts";
import { type FauxStep, binary } from "../support/rpi.ts";
import { Sandbox } from "../support/sandbox.ts";

// The client of another program, as its users run it: `node <cliPath> --mode rpc …`, a SIGKILL one second after SIGTERM.
const cliPath = path.join(import.meta.dir, "../../scripts/rpi.mjs");
const onNode = test.skipIf(!Bun.which("node"));
let sandbox: Sandbox;
let client: RpcClient | undefined;

beforeEach(async () => {
  await binary();
  sandbox = new Sandbox();
});

afterEach(async () => {
  await client?.stop();
  sandbox[Symbol.dispose]();
});

async function connect({ turns, args = [] }: { turns?: FauxStep[][]; args?: string[] } = {}): Promise<RpcClient> {
  const script = turns ? ["--faux-script", sandbox.writeScript(turns)] : [];
  const pi = new RpcClient({ cliPath, cwd: sandbox.cwd, env: sandbox.env(), model: "faux/faux-1", args: [...script, ...args] });
  client = pi;
  await pi.start();
  return pi;
}

const slowly = (words: number): FauxStep[] => Array.from({ length: words }, (_, n) => [{ text: `word ${n} ` }, { delayMs: 20 }]).flat();

onNode("pi's client prompts and is told every event up to the settled run", async () => {
  sandbox.write("note.txt", "milk\n");
  const pi = await connect({
    turns: [[{ text: "Let me look." }, { toolCall: { name: "read", arguments: { path: "note.txt" } } }], [{ text: "It says milk." }]],
  });
  const events = await pi.promptAndWait("What does note.txt say?");
  const types = events.map((event) => event.type).filter((type: string) => type !== "message_update" && type !== "session_started");
  expect(types).toEqual([
    "agent_start",
    "turn_start",
    "message_start",
    "message_end",
    "message_start",
    "message_end",
    "tool_execution_start",
    "tool_execution_end",
    "message_start",
    "message_end",
    "turn_end",
    "turn_start",
    "message_start",
    "message_end",
    "turn_end",
    "agent_end",
    "agent_settled",
  ]);
  expect(await pi.getLastAssistantText()).toBe("It says milk.");
  expect((await pi.getMessages()).map((message) => message.role)).toEqual(["user", "assistant", "toolResult", "assistant"]);
});

onNode("pi's client aborts a run, which keeps what had been said", async () => {
  const pi = await connect({ turns: [slowly(1000)] });
  const settled = pi.collectEvents();
  const spoken = new Promise<void>((resolve) => pi.onEvent((event) => event.type === "message_update" && resolve()));
  expect(await pi.prompt("Count.")).toBe("started");
  await spoken;
  await pi.abort();
  const last: unknown = (await settled).at(-1);
  expect(last).toMatchObject({ type: "agent_settled", aborted: true, stopReason: "aborted" });
  expect(await pi.getLastAssistantText()).toStartWith("word 0");
  expect((await pi.getMessages()).at(-1)).toMatchObject({ role: "assistant", stopReason: "aborted" });
});

onNode("pi's client runs bash, and the model is sent it with the next prompt", async () => {
  const pi = await connect({ turns: [[{ text: "Seen." }]] });
  expect(await pi.bash("echo one; echo two >&2; exit 3")).toMatchObject({ output: "one\ntwo\n", exitCode: 3, cancelled: false, truncated: false });
  await pi.promptAndWait("What happened?");
  expect((await pi.getMessages()).map((message) => message.role)).toEqual(["bashExecution", "user", "assistant"]);
});

onNode("pi's client stops a bash command", async () => {
  const pi = await connect();
  const started = new Promise<void>((resolve) => pi.onEvent((event) => (event.type as string) === "bash_execution_update" && resolve()));
  const result = pi.bash("echo here; sleep 37");
  await started;
  await pi.abortBash();
  const { exitCode, ...rest } = await result;
  expect(rest).toMatchObject({ cancelled: true });
  expect(exitCode ?? null).toBeNull();
});

onNode("pi's client reads and changes state", async () => {
  const pi = await connect();
  const state = await pi.getState();
  expect(state).toMatchObject({
    model: { provider: "faux", id: "faux-1" },
    thinkingLevel: "off",
    isStreaming: false,
    isCompacting: false,
    steeringMode: "one-at-a-time",
    followUpMode: "one-at-a-time",
    autoCompactionEnabled: true,
    messageCount: 0,
    pendingMessageCount: 0,
  });
  await pi.setSessionName("  Groceries\n");
  expect(await pi.getState()).toMatchObject({ sessionName: "Groceries", sessionId: state.sessionId });
  expect(await pi.newSession()).toEqual({ cancelled: false });
  expect((await pi.getState()).sessionId).not.toBe(state.sessionId);
  expect((await pi.getAvailableModels()).map(({ provider, id }) => `${provider}/${id}`)).toEqual(["faux/faux-1"]);
  expect(await pi.getCommands()).toEqual([]);
});

onNode("pi's client sets modes, levels and switches", async () => {
  const pi = await connect();
  expect(await pi.setModel("faux", "faux-1")).toMatchObject({ provider: "faux", id: "faux-1" });
  await expect(pi.setModel("faux", "gone")).rejects.toThrow("Model not found: faux/gone");
  expect(await pi.cycleModel()).toBeNull();
  await pi.setThinkingLevel("high");
  expect(await pi.cycleThinkingLevel()).toBeNull();
  expect(await pi.getAvailableThinkingLevels()).toEqual(["off"]);
  await pi.setSteeringMode("all");
  await pi.setFollowUpMode("all");
  await pi.setAutoCompaction(false);
  await pi.setAutoRetry(false);
  await pi.abortRetry();
  expect(await pi.getState()).toMatchObject({ steeringMode: "all", followUpMode: "all", autoCompactionEnabled: false });
});

onNode("pi's client steers a run, adds a follow-up and takes both back", async () => {
  const pi = await connect({ turns: [slowly(1000), [{ text: "second" }]] });
  await pi.prompt("Count.");
  expect(await pi.steer("Stop at ten.")).toBe("queued");
  expect(await pi.followUp("Then sum up.")).toBe("queued");
  expect(await pi.clearQueue()).toEqual({ steering: ["Stop at ten."], followUp: ["Then sum up."] });
  await expect(pi.prompt("Another?")).rejects.toThrow("streamingBehavior");
  expect(await pi.prompt("Another!", undefined, "followUp")).toBe("queued");
  await pi.abort();
  expect(await pi.getState()).toMatchObject({ isStreaming: false, pendingMessageCount: 1 });
});

onNode("pi's client walks through sessions: fork, clone, entries, tree, switch, statistics", async () => {
  const pi = await connect({ turns: [[{ text: "First." }], [{ text: "Second." }]] });
  await pi.promptAndWait("one");
  await pi.promptAndWait("two");
  const { sessionFile } = await pi.getState();
  const messages = await pi.getForkMessages();
  expect(messages.map(({ text }) => text)).toEqual(["one", "two"]);
  expect(await pi.fork(messages[1]!.entryId)).toEqual({ text: "two", cancelled: false });
  expect((await pi.getMessages()).map((message) => message.role)).toEqual(["user", "assistant"]);
  expect(await pi.clone()).toEqual({ cancelled: false });
  expect(await pi.switchSession(sessionFile!)).toEqual({ cancelled: false });

  const { entries, leafId } = await pi.getEntries();
  expect(entries.at(-1)!.id).toBe(leafId!);
  expect((await pi.getEntries(entries[0]!.id)).entries).toEqual(entries.slice(1));
  expect((await pi.getTree()).leafId).toBe(leafId);
  expect(await pi.getSessionStats()).toMatchObject({ userMessages: 2, assistantMessages: 2, toolCalls: 0, totalMessages: 4 });
});

onNode("pi's client stops rpi with SIGTERM in the middle of a tool, and nothing is left running", async () => {
  const pi = await connect({ turns: [[{ toolCall: { name: "bash", arguments: { command: "sleep 36" } } }]] });
  const inTool = new Promise<void>((resolve) => pi.onEvent((event) => event.type === "tool_execution_start" && resolve()));
  await pi.prompt("Wait.");
  await inTool;
  const startedAt = performance.now();
  await pi.stop();
  expect(performance.now() - startedAt).toBeLessThan(1000);
  expect(leftovers(sandbox.dir)).toEqual([]);
});

onNode("pi's client compacts a session, which answers with the summary", async () => {
  sandbox.writeAgent("settings.json", { compaction: { keepRecentTokens: 100 } });
  const long = "word ".repeat(400);
  const pi = await connect({ turns: [[{ text: long }], [{ text: long }], [{ text: "A summary." }]] });
  await expect(pi.compact()).rejects.toThrow("Nothing to compact");
  await pi.promptAndWait("one");
  await pi.promptAndWait("two");
  const result = await pi.compact("Keep it short.");
  expect(result.summary).toContain("A summary.");
  expect(result.tokensBefore).toBeGreaterThan(500);
  expect((await pi.getMessages())[0]).toMatchObject({ role: "compactionSummary" });
});
