import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { start } from "../support/rpi.ts";
import { textOf } from "../support/wire.ts";
import { until } from "../support/until.ts";

const deltas = (records: { type: string; [key: string]: any }[]) => records.filter((record) => record["assistantMessageEvent"]?.type === "text_delta").map((record) => record["assistantMessageEvent"].delta as string);
const long = "0123456789 ünï 🎉 ".repeat(120_000);

test("with nobody reading, memory is bounded, and later every delta is there, some of them together", async () => {
  await using rpi = await start({ turns: [[{ text: long }]], patienceMs: 30_000 });
  await rpi.ok("get_state");
  const before = rpi.memory().rssBytes;
  rpi.pauseReading();
  rpi.send({ id: "p", type: "prompt", message: "go" });
  let peak = 0;
  const begin = performance.now();
  await until(() => { peak = Math.max(peak, rpi.memory().rssBytes); return performance.now() - begin > 1500; }, "some time to pass");
  expect(peak - before).toBeLessThan(150e6);
  rpi.resumeReading();
  await rpi.settled();
  const text = textOf(rpi.records.findLast((record) => record.type === "message_end")!["message"]);
  expect(text.length).toBe(long.length);
  expect(deltas(rpi.records).join("") === long).toBe(true);
}, 60_000);

test("abort works while nobody reads", async () => {
  await using rpi = await start({ turns: [[{ text: long }]], patienceMs: 20_000 });
  await rpi.ok("get_state");
  rpi.pauseReading();
  rpi.send({ id: "p", type: "prompt", message: "go" }, { id: "b", type: "bash", command: "yes 0123456789" });
  await until(() => rpi.leftovers().some((row) => row.command.startsWith("yes")), "the command to run");
  rpi.send({ id: "a", type: "abort" });
  await rpi.gone();
  rpi.resumeReading();
  expect((await rpi.response("a"))["success"]).toBe(true);
  expect((await rpi.response("b"))["data"]).toMatchObject({ cancelled: true });
  expect(rpi.events("agent_settled").map((record) => record["aborted"])).toEqual([true]);
});

test("no response is dropped, and commands are held once much waits unwritten", async () => {
  await using rpi = await start({ turns: [[{ text: "word ".repeat(40_000) }]], patienceMs: 30_000 });
  await rpi.run("x");
  const before = rpi.memory().rssBytes;
  rpi.pauseReading();
  const ids = Array.from({ length: 600 }, (_, i) => `r${i}`);
  rpi.send(...ids.map((id) => ({ id, type: "get_messages" })));
  const begin = performance.now();
  await until(() => performance.now() - begin > 800, "some time to pass");
  // All answers together would be 120 MB.
  expect(rpi.memory().rssBytes - before).toBeLessThan(100e6);
  rpi.resumeReading();
  for (const id of ids) expect((await rpi.response(id))["success"]).toBe(true);
}, 60_000);

test("whatever is asked while nobody reads, memory is bounded, and all of it is answered later", async () => {
  const kinds = {
    "large ones": { count: 30, line: (id: string) => ({ id, type: "get_last_assistant_text", pad: "x".repeat(4_000_000) }) },
    "those that are never held": { count: 300_000, line: (id: string) => ({ id, type: "abort_bash" }) },
  };
  for (const [kind, { count, line }] of Object.entries(kinds)) {
    await using rpi = await start({ turns: [[{ text: "word ".repeat(40_000) }]], patienceMs: 30_000, checksShapes: false });
    await rpi.run("x");
    const before = rpi.memory().rssBytes;
    rpi.pauseReading();
    rpi.send(...Array.from({ length: 60 }, () => ({ type: "get_messages" })));
    for (let at = 0; at < count; at += 10_000) rpi.send(...Array.from({ length: Math.min(10_000, count - at) }, (_, i) => line(`r${at + i}`)));
    const begin = performance.now();
    await until(() => performance.now() - begin > 1000, "some time to pass");
    expect([kind, rpi.memory().rssBytes - before < 100e6]).toEqual([kind, true]);
    rpi.resumeReading();
    await rpi.response(`r${count - 1}`);
    expect(new Set(rpi.events("response").flatMap((record) => record["id"] ?? [])).size).toBeGreaterThanOrEqual(count);
  }
}, 120_000);

test("long answers to what waited in the lane are bounded, too", async () => {
  await using rpi = await start({ turns: [[{ text: "word ".repeat(200_000) }]], patienceMs: 30_000 });
  await rpi.run("x");
  const before = rpi.memory().rssBytes;
  rpi.pauseReading();
  const ids = Array.from({ length: 200 }, (_, i) => `r${i}`);
  rpi.send({ type: "clone" }, ...ids.map((id) => ({ id, type: "get_messages" })));
  const begin = performance.now();
  await until(() => performance.now() - begin > 1000, "some time to pass");
  // All answers together would be 200 MB.
  expect(rpi.memory().rssBytes - before).toBeLessThan(100e6);
  rpi.resumeReading();
  for (const id of ids) expect((await rpi.response(id))["success"]).toBe(true);
}, 60_000);

test.skipIf(!existsSync("/proc/self/stat"))("commands that have ended while nobody reads cost no processor time", async () => {
  await using rpi = await start({ patienceMs: 20_000 });
  await rpi.ok("get_state");
  rpi.pauseReading();
  rpi.send(...Array.from({ length: 60 }, (_, i) => ({ id: `b${i}`, type: "bash", command: "seq 12000" })));
  const ticks = () => readFileSync(`/proc/${rpi.pid}/stat`, "utf8").split(") ")[1]!.split(" ").slice(11, 13).reduce((sum, part) => sum + Number(part), 0);
  let last = -1;
  // Half a second without work, one tick aside.
  await until(async () => {
    const [before] = [ticks(), await Bun.sleep(500)];
    last = ticks() - before;
    return last <= 1;
  }, () => `rest; ${last} ticks in the last half second`);
  rpi.resumeReading();
  for (let i = 0; i < 60; i += 1) expect((await rpi.response(`b${i}`))["data"].exitCode).toBe(0);
}, 30_000);

test("output of a command is bounded while nobody reads", async () => {
  await using rpi = await start({ patienceMs: 30_000 });
  await rpi.ok("get_state");
  const before = rpi.memory().rssBytes;
  rpi.pauseReading();
  rpi.send({ id: "b", type: "bash", command: "yes 0123456789 | head -c 200000000" });
  let peak = 0;
  const begin = performance.now();
  await until(() => { peak = Math.max(peak, rpi.memory().rssBytes); return performance.now() - begin > 1500; }, "some time to pass");
  expect(peak - before).toBeLessThan(100e6);
  rpi.send({ id: "a", type: "abort_bash" });
  rpi.resumeReading();
  expect((await rpi.response("b"))["data"]).toMatchObject({ cancelled: true, truncated: true });
});
