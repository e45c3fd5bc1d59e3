import { expect, test } from "bun:test";
import { type Rpi, start } from "../support/rpi.ts";
import { textOf, type WireRecord } from "../support/wire.ts";

const slow = [{ text: "one " }, { delayMs: 20_000 }, { text: "two" }];
const place = (rpi: Rpi, holds: (record: WireRecord) => boolean) => rpi.records.findIndex(holds);
const answerTo = (id: string) => (record: WireRecord) => record.type === "response" && record["id"] === id;

test("prompt then abort in one write: accepted, then aborted, settled once, then the abort is answered", async () => {
  for (let round = 0; round < 20; round += 1) {
    await using rpi = await start({ turns: [slow] });
    rpi.send({ id: "p", type: "prompt", message: "go" }, { id: "a", type: "abort" });
    const accepted = await rpi.response("p");
    expect(accepted["data"]).toEqual({ disposition: "started" });
    await rpi.response("a");
    const settled = rpi.events("agent_settled");
    expect(settled).toEqual([{ type: "agent_settled", aborted: true, stopReason: "aborted", promptIds: ["p"] }]);
    expect(place(rpi, answerTo("p"))).toBeLessThan(place(rpi, (record) => record.type === "agent_start"));
    expect(place(rpi, (record) => record.type === "agent_settled")).toBeLessThan(place(rpi, answerTo("a")));
    expect((await rpi.ok("get_state")).isStreaming).toBe(false);
  }
}, 60_000);

test("two prompts in one write: never both started", async () => {
  await using rpi = await start({ turns: [[{ text: "first" }, { delayMs: 300 }], [{ text: "queued" }]] });
  rpi.send({ id: "a", type: "prompt", message: "one" }, { id: "b", type: "prompt", message: "two" }, { id: "c", type: "prompt", message: "three", streamingBehavior: "followUp" });
  expect((await rpi.response("a"))["data"]).toEqual({ disposition: "started" });
  expect(await rpi.response("b")).toMatchObject({ success: false, code: "busy", error: expect.stringContaining("streamingBehavior") });
  expect((await rpi.response("c"))["data"]).toEqual({ disposition: "queued" });
  const settled = await rpi.settled();
  expect(settled["promptIds"]).toEqual(["a", "c"]);
  expect((await rpi.ok("get_last_assistant_text")).text).toBe("queued");
});

test("new_session then prompt in one write: the prompt runs in the new session", async () => {
  await using rpi = await start({ turns: [[{ text: "old" }], [{ text: "new" }]] });
  await rpi.run("into the old one");
  rpi.send({ id: "n", type: "new_session" }, { id: "p", type: "prompt", message: "into the new one" }, { id: "m", type: "get_state" });
  expect((await rpi.response("p"))["success"]).toBe(true);
  await rpi.settled(place(rpi, answerTo("p")));
  const { messages } = await rpi.ok("get_messages");
  expect(messages.map((message: never) => textOf(message))).toEqual(["into the new one", "new"]);
});

test("abort then prompt in one write: the prompt is taken when the abort is done", async () => {
  await using rpi = await start({ turns: [slow, [{ text: "after" }]] });
  const { from } = await rpi.begin("go");
  await rpi.event("message_update", { from });
  rpi.send({ id: "a", type: "abort" }, { id: "p", type: "prompt", message: "again" });
  expect((await rpi.response("p"))["data"]).toEqual({ disposition: "started" });
  expect(place(rpi, answerTo("a"))).toBeLessThan(place(rpi, answerTo("p")));
  await rpi.event((record) => record.type === "agent_settled" && record["aborted"] === false, { from });
  expect(rpi.events("agent_settled", from).map((record) => record["aborted"])).toEqual([true, false]);
});

test("settings before a prompt in one write hold for it, and a name given after new_session names the new one", async () => {
  await using rpi = await start({ turns: [[{ text: "x" }]] });
  await rpi.ok("set_session_name", { name: "old" });
  rpi.send({ id: "n", type: "new_session" }, { id: "s", type: "set_session_name", name: "new" }, { id: "q", type: "steer", message: "soon" }, { id: "g", type: "get_messages" });
  await rpi.response("g");
  expect(await rpi.ok("get_state")).toMatchObject({ sessionName: "new", pendingMessageCount: 1 });
});

test("bash runs beside everything, and abort_bash never waits for it", async () => {
  await using rpi = await start({ turns: [[{ text: "meanwhile" }]] });
  rpi.send({ id: "b", type: "bash", command: "sleep 30" }, { id: "s", type: "get_state" }, { id: "p", type: "prompt", message: "x" });
  await rpi.settled();
  expect(place(rpi, answerTo("b"))).toBe(-1);
  rpi.send({ id: "c", type: "bash", command: "sleep 31" }, { id: "x", type: "abort_bash" });
  for (const id of ["b", "c"]) expect((await rpi.response(id))["data"]).toMatchObject({ cancelled: true, exitCode: null });
  expect(place(rpi, answerTo("x"))).toBeLessThan(place(rpi, answerTo("b")));
  await rpi.gone();
});

test("a prompt does not wait for a process that takes its time to stop", async () => {
  await using rpi = await start({ turns: [[{ text: "at once" }]] });
  const { id } = await rpi.ok("process_spawn", { spec: { argv: ["sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done"], cwd: rpi.sandbox.cwd } });
  await rpi.event((record) => record.type === "process_output" && record["id"] === id, { what: "the trap to be set" });
  rpi.send({ id: "s", type: "process_stop", processId: id }, { id: "p", type: "prompt", message: "x" });
  await rpi.settled();
  expect(place(rpi, answerTo("s"))).toBe(-1);
  expect((await rpi.response("s"))["data"].state).toBe("exited");
});

test("events of a command come before its response", async () => {
  await using rpi = await start();
  const before = async (type: string, fields: object, event: string) => {
    const from = rpi.mark();
    await rpi.ok(type, fields);
    const types = rpi.records.slice(from).map((record) => record.type);
    expect(types).toContain(event);
    expect(types.indexOf(event)).toBeLessThan(types.indexOf("response"));
  };
  await before("set_session_name", { name: "n" }, "session_info_changed");
  await before("new_session", {}, "session_started");
  await before("steer", { message: "later" }, "queue_update");
  await before("clear_queue", {}, "queue_update");
});
