import { expect, test } from "bun:test";
import { linkSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { binary, type Rpi, start } from "../support/rpi.ts";
import { Sandbox } from "../support/sandbox.ts";
import { textOf } from "../support/wire.ts";

const stalled = [{ text: "half" }, { delayMs: 60_000 }];
const said = (rpi: Rpi) => rpi.ok("get_messages").then(({ messages }) => messages.map(textOf));

/** A run that streams and will not end by itself. */
async function streaming(rpi: Rpi, message = "long"): Promise<void> {
  const { from } = await rpi.begin(message);
  await rpi.event("message_update", { from });
}

/** What ends the old session and begins the new one, in order. */
function steps(rpi: Rpi, from: number): string[] {
  const told = ["agent_settled", "session_started", "queue_update"];
  return rpi.records.slice(from).flatMap((record) => (record.type === "response" ? [record["command"]] : told.includes(record.type) ? [record.type] : []));
}

test("each way to another session ends the run first, tells the new one before it answers, and the prompt behind it runs there", async () => {
  await using rpi = await start({ turns: [[{ text: "hello" }], ...["new_session", "clone", "fork", "switch_session"].flatMap((name) => [stalled, [{ text: `after ${name}` }]])] });
  await rpi.run("first");
  const { sessionFile: first } = await rpi.ok("get_state");
  const after: Record<string, string[]> = {};
  for (const type of ["new_session", "clone", "fork", "switch_session"]) {
    await streaming(rpi);
    const [{ entryId }] = (await rpi.ok("get_fork_messages")).messages;
    const from = rpi.mark();
    rpi.send({ id: `${type} to`, type, entryId, sessionPath: first }, { id: `${type} then`, type: "prompt", message: "in the next one" });
    const { id, index } = { id: `${type} then`, index: rpi.records.indexOf(await rpi.response(`${type} then`, from)) };
    expect(await rpi.settled(index)).toMatchObject({ promptIds: [id], aborted: false });
    expect(steps(rpi, from)).toEqual(["agent_settled", "session_started", type, "prompt", "agent_settled"]);
    after[type] = await said(rpi);
  }
  expect(after).toEqual({
    new_session: ["in the next one", "after new_session"],
    clone: ["in the next one", "after new_session", "long", "half", "in the next one", "after clone"],
    fork: ["in the next one", "after fork"],
    switch_session: ["first", "hello", "long", "half", "in the next one", "after switch_session"],
  });
});

test("a new session names its parent, absolute, when it is given one", async () => {
  await using rpi = await start();
  const parents: unknown[] = [];
  for (const parentSession of ["before.jsonl", "", null]) {
    await rpi.ok("new_session", { parentSession });
    await rpi.ok("set_session_name", { name: "kept" });
    parents.push(JSON.parse(readFileSync((await rpi.ok("get_state")).sessionFile, "utf8").split("\n")[0]!).parentSession);
  }
  expect(parents).toEqual([path.join(rpi.sandbox.cwd, "before.jsonl"), undefined, undefined]);
});

test("what is refused changes nothing: the run goes on, and no file is made", async () => {
  await using rpi = await start({ turns: [stalled] });
  await streaming(rpi);
  const before = await rpi.ok("get_state");
  const missing = path.join(rpi.sandbox.dir, "missing.jsonl");
  const other = rpi.sandbox.write("notes.jsonl", "no session\n");
  expect(await rpi.refused("switch_session", { sessionPath: missing })).toEqual({ code: "not_found", error: `Session file not found: ${missing}` });
  expect(await rpi.refused("switch_session", { sessionPath: other })).toMatchObject({ code: "invalid", error: expect.stringContaining("not a session file") });
  expect(await rpi.refused("fork", { entryId: "00000000" })).toEqual({ code: "not_found", error: "Entry not found: 00000000" });
  expect(await rpi.ok("get_state")).toEqual(before);
  expect(readFileSync(other, "utf8")).toBe("no session\n");
});

test("all of it works in memory, and a session that never was a file cannot be come back to", async () => {
  await using rpi = await start({ args: ["--no-session", "--name", "kept in mind"], turns: [[{ text: "one" }], [{ text: "two" }]] });
  await rpi.run("first");
  const [{ entryId }] = (await rpi.ok("get_fork_messages")).messages;
  await rpi.ok("clone");
  expect(await said(rpi)).toEqual(["first", "one"]);
  expect((await rpi.ok("get_state")).sessionName).toBe("kept in mind");
  expect(await rpi.ok("fork", { entryId })).toEqual({ text: "first", cancelled: false });
  await rpi.run("second");
  await rpi.ok("new_session");
  expect(await said(rpi)).toEqual([]);
  expect((await rpi.ok("session_list", { scope: "all" })).sessions).toEqual([]);
  expect(rpi.events("session_started").flatMap(({ data }) => data.sessionFile ?? [])).toEqual([]);
});

test("switching to the file that is open, whatever it is called, loses nothing of the run that this ends", async () => {
  await using rpi = await start({ turns: [stalled, stalled, stalled, [{ text: "done" }]] });
  await streaming(rpi, "prompt 0");
  const { sessionFile } = await rpi.ok("get_state");
  const link = path.join(rpi.sandbox.dir, "link.jsonl");
  const second = path.join(rpi.sandbox.dir, "second.jsonl");
  symlinkSync(sessionFile, link);
  linkSync(sessionFile, second);
  for (const [i, sessionPath] of [sessionFile, link, second].entries()) {
    await rpi.ok("switch_session", { sessionPath });
    if (i < 2) await streaming(rpi, `prompt ${i + 1}`);
  }
  await rpi.run("the end");
  expect(await said(rpi)).toEqual(["prompt 0", "half", "prompt 1", "half", "prompt 2", "half", "the end", "done"]);
});

test("a session that cannot be made leaves the old one with its processes and loops", async () => {
  using sandbox = new Sandbox();
  const dir = path.join(sandbox.dir, "sessions");
  await using rpi = await start({ sandbox, args: ["--session-dir", dir], turns: [[{ text: "hi" }]] });
  await rpi.run("hello");
  const { id } = await rpi.ok("process_spawn", { spec: { argv: ["cat"], cwd: sandbox.cwd } });
  const loop = await rpi.ok("loop_create", { interval: "1h", prompt: "tick", fireImmediately: false });
  renameSync(dir, `${dir}-moved`);
  writeFileSync(dir, "in the way");
  expect(await rpi.refused("clone")).toMatchObject({ code: "unavailable", error: expect.stringMatching(/^The session was not replaced: Cannot write the session file/) });
  expect(await rpi.ok("process_describe", { processId: id })).toMatchObject({ state: "running" });
  expect(await rpi.ok("loop_list")).toEqual([loop]);
  expect((await rpi.ok("get_state")).messageCount).toBe(2);
});

test("the command and `rpi sessions` list the same ones, of a folder or of all, newest first", async () => {
  using sandbox = new Sandbox();
  const other = path.join(sandbox.dir, "other");
  mkdirSync(other);
  const made: string[] = [];
  for (const [cwd, name] of [[sandbox.cwd, "a"], [other, "b"], [sandbox.cwd, "c"]] as const) {
    await using rpi = await start({ sandbox, cwd, turns: [[{ text: "hi" }]], args: ["--name", name] });
    await rpi.run(`hello ${name}`);
    made.push((await rpi.ok("get_state")).sessionFile);
    await rpi.finish();
  }
  await using rpi = await start({ sandbox });
  const { sessions: all } = await rpi.ok("session_list", { scope: "all" });
  expect(all.map(({ path: file }: { path: string }) => file)).toEqual(made.toReversed());
  expect(all[1]).toEqual({ path: made[1], id: expect.any(String), name: "b", cwd: other, firstMessage: "hello b", messageCount: 2, createdAt: expect.any(Number), modifiedAt: expect.any(Number), size: readFileSync(made[1]!).length });
  const here = (await rpi.ok("session_list")).sessions;
  expect(here).toEqual([all[0], all[2]]);
  const file = await binary();
  const printed = (...args: string[]) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync([file, "sessions", "--json", ...args], { cwd: sandbox.cwd, env: sandbox.env() });
    expect({ exitCode, stderr: stderr.toString() }).toEqual({ exitCode: 0, stderr: "" });
    return stdout.toString().trimEnd().split("\n").map((line) => JSON.parse(line));
  };
  expect(printed("--all")).toEqual(all);
  expect(printed()).toEqual(here);
  expect(printed("-C", other)).toEqual([all[1]]);
  const { exitCode, stderr } = Bun.spawnSync([file, "sessions", "-C", "missing"], { cwd: sandbox.cwd, env: sandbox.env() });
  expect({ exitCode, stderr: stderr.toString() }).toEqual({ exitCode: 1, stderr: "rpi: -C missing: there is no such folder\n" });
});
