import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type FauxStep, type Rpi, start } from "../support/rpi.ts";
import { Sandbox } from "../support/sandbox.ts";

const LATER = { interval: "1h", fireImmediately: false };
const loopEvents = (rpi: Rpi, from = 0) => rpi.records.slice(from).filter(({ type }) => type.startsWith("loop_"));
const words = (rpi: Rpi, from: number, to?: number) => rpi.records.slice(from, to).flatMap(({ type, taskId, reason }) => (/^(loop_(?!created)|agent_(start|settled))/.test(type) ? [[type, taskId ?? reason].filter(Boolean).join(" ")] : []));

test("a durable loop of a session that has said nothing yet gives it a file, and comes back with it, the others do not", async () => {
  using sandbox = new Sandbox();
  let sessionFile = "";
  let durable: object;
  {
    await using rpi = await start({ sandbox });
    ({ sessionFile } = await rpi.ok("get_state"));
    await rpi.ok("loop_create", { ...LATER, prompt: "not kept" });
    expect(existsSync(sessionFile)).toBe(false);
    durable = await rpi.ok("loop_create", { ...LATER, prompt: "kept", durable: true });
    expect(readFileSync(sessionFile, "utf8")).toStartWith('{"type":"session","version":3,');
    await rpi.finish();
    expect(loopEvents(rpi).slice(-2)).toMatchObject([{ type: "loop_removed", reason: "shutdown" }, { type: "loop_removed", reason: "shutdown" }]);
  }
  await using rpi = await start({ sandbox, args: ["--continue"] });
  expect((await rpi.ok("get_state")).sessionFile).toBe(sessionFile);
  expect(loopEvents(rpi)).toEqual([{ type: "loop_created", task: durable, restored: true }]);
  const types = rpi.records.map(({ type }) => type);
  expect(types.indexOf("session_started")).toBeLessThan(types.indexOf("loop_created"));

  await rpi.ok("new_session");
  expect(await rpi.ok("loop_list")).toEqual([]);
  await rpi.ok("switch_session", { sessionPath: sessionFile });
  expect(await rpi.ok("loop_list")).toEqual([durable]);
  await rpi.ok("clone");
  expect(await rpi.ok("loop_list")).toEqual([]);
  await rpi.ok("switch_session", { sessionPath: sessionFile });
  expect(await rpi.ok("loop_delete", { taskId: (durable as { id: string }).id })).toBe(true);
  expect(readdirSync(path.dirname(sessionFile)).filter((name) => !name.endsWith(".jsonl"))).toEqual([]);
});

test("a durable loop is refused where it cannot be kept, and nothing is told of it", async () => {
  await using inMemory = await start({ args: ["--no-session"] });
  expect((await inMemory.refused("loop_create", { ...LATER, prompt: "x", durable: true })).code).toBe("unavailable");
  expect([await inMemory.ok("loop_list"), loopEvents(inMemory)]).toEqual([[], []]);
});

test("a durable loop whose session can have no file is not made; it is once that can be", async () => {
  await using rpi = await start();
  const folder = path.dirname((await rpi.ok("get_state")).sessionFile);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(path.dirname(folder), { recursive: true });
  writeFileSync(folder, "in the way");
  const asked = { ...LATER, prompt: "x", durable: true };
  expect(await rpi.refused("loop_create", asked)).toEqual({ code: "unavailable", error: expect.stringMatching(/^the loops could not be stored: Cannot write the session file /) });
  expect([await rpi.ok("loop_list"), loopEvents(rpi)]).toEqual([[], []]);
  rmSync(folder);
  const task = await rpi.ok("loop_create", asked);
  expect(await rpi.ok("loop_list")).toEqual([task]);
});

test("a kept loop that fell due while nobody was there fires once after a kill -9 and a resume", async () => {
  using sandbox = new Sandbox();
  {
    await using rpi = await start({ sandbox });
    await rpi.ok("loop_create", { interval: "1s", fireImmediately: false, prompt: "look", durable: true });
    rpi.signal("SIGKILL");
    await rpi.exit();
  }
  await using rpi = await start({ sandbox, args: ["--continue"], turns: [[{ text: "looked" }, { delayMs: 60_000 }]] });
  const fired = await rpi.event("loop_fired");
  expect(rpi.events("loop_fired").length).toBe(1);
  const { messages } = await rpi.ok("get_messages");
  expect(messages[0]).toMatchObject({ role: "custom", customType: "loop", content: "look", display: true, details: { taskId: fired["taskId"] } });
});

test("what is due waits for its turn: after the run, one at a time, in order; what waits or runs is skipped; an abort takes no loop away", async () => {
  const slow = (ms: number): FauxStep[] => [{ text: "." }, { delayMs: ms }, { text: "." }];
  await using rpi = await start({ turns: [slow(1500), slow(60_000), slow(1200), slow(0)] });
  const { from } = await rpi.begin("go");
  const create = async (prompt: string) => (await rpi.ok("loop_create", { interval: "1s", prompt })).id as string;
  const [a, b] = [await create("a"), await create("b")];
  const first = await rpi.event((record) => record.type === "loop_fired" && record["taskId"] === a, { from });
  expect(words(rpi, from, rpi.records.indexOf(first) + 1)).toEqual([
    "agent_start", `loop_queued ${a}`, `loop_queued ${b}`, `loop_skipped ${a}`, `loop_skipped ${b}`, "agent_settled", `loop_fired ${a}`,
  ]);
  expect((await rpi.refused("prompt", { message: "now?" })).code).toBe("busy");
  await rpi.ok("loop_update", { taskId: a, interval: "1h" });
  await rpi.ok("loop_update", { taskId: b, interval: "1h" });
  await rpi.event("agent_start", { from: rpi.records.findIndex(({ type }) => type === "loop_fired") });
  const aborted = rpi.mark();
  await rpi.ok("abort");
  const second = await rpi.event((record) => record.type === "loop_fired" && record["taskId"] === b, { from: aborted });
  expect(words(rpi, aborted).slice(0, 3)).toEqual(["agent_settled", `loop_finished ${a}`, `loop_fired ${b}`]);
  expect((await rpi.ok("loop_list")).map((task: { id: string; runCount: number }) => [task.id, task.runCount])).toEqual([[a, 1], [b, 1]]);
  // The end of input waits for the firing, for it is a run, and for no loop.
  await rpi.finish();
  expect(words(rpi, rpi.records.indexOf(second))).toEqual([`loop_fired ${b}`, "agent_start", "agent_settled", `loop_finished ${b}`, `loop_removed ${a}`, `loop_removed ${b}`]);
});

test("--on-eof abort ends a firing", async () => {
  await using rpi = await start({ args: ["--on-eof", "abort"], turns: [[{ text: "." }, { delayMs: 60_000 }]] });
  await rpi.ok("loop_create", { interval: "1h", prompt: "a" });
  await rpi.event("agent_start");
  expect((await rpi.finish()).code).toBe(0);
  expect(rpi.events("agent_settled").map((record) => record["aborted"])).toEqual([true]);
});

test("a failed firing says why, and its loop stays", async () => {
  await using rpi = await start({ turns: [[{ error: { status: 400, message: "no such thing" } }]] });
  const { id } = await rpi.ok("loop_create", { interval: "1h", prompt: "a" });
  expect(await rpi.event("loop_failed")).toEqual({ type: "loop_failed", taskId: id, error: expect.stringContaining("no such thing") });
  expect(await rpi.ok("loop_list")).toMatchObject([{ id, runCount: 1 }]);
});

test("what is wrong with a loop is said in the words that clients know", async () => {
  await using rpi = await start();
  const { id } = await rpi.ok("loop_create", { ...LATER, prompt: "p" });
  const cases: [string, object, string, string][] = [
    ["loop_create", { interval: "soon", prompt: "p" }, "invalid", "invalid interval: "],
    ["loop_create", { interval: "0m", prompt: "p" }, "invalid", "invalid interval: "],
    ["loop_create", { interval: 5, prompt: "p" }, "invalid", "Invalid command: interval: "],
    ["loop_create", { interval: "1h", prompt: " \n" }, "invalid", "loop prompt cannot be empty"],
    ["loop_update", { taskId: id }, "invalid", "nothing to update; provide interval and/or prompt"],
    ["loop_update", { taskId: id, prompt: "" }, "invalid", "loop prompt cannot be empty"],
    ["loop_update", { taskId: "x", prompt: "p" }, "not_found", "no scheduled loop with id x"],
    ["loop_delete", {}, "invalid", "Invalid command: taskId: "],
  ];
  for (const [type, fields, code, error] of cases) expect(await rpi.refused(type, fields)).toEqual({ code, error: expect.stringContaining(error) });
  expect([await rpi.ok("loop_delete", { taskId: "x" }), await rpi.ok("loop_cancel", { taskId: "x" })]).toEqual([false, false]);
  for (let n = 1; n < 50; n += 1) await rpi.ok("loop_create", { ...LATER, prompt: `${n}` });
  expect(await rpi.refused("loop_create", { ...LATER, prompt: "one more" })).toEqual({ code: "busy", error: "maximum of 50 scheduled tasks reached" });
});
