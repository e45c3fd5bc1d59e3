import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { start } from "../support/rpi.ts";
import { Sandbox } from "../support/sandbox.ts";
import { textOf } from "../support/wire.ts";

const answers = [[{ text: "one" }], [{ text: "two" }], [{ text: "three" }]];
const header = (file: string) => JSON.parse(readFileSync(file, "utf8").split("\n")[0]!);

test("a fork has the talk up to before a message in a file of its own, and the parent keeps its own", async () => {
  await using rpi = await start({ turns: [...answers, [{ text: "another two" }]] });
  await rpi.run("first");
  await rpi.ok("todo_op", { op: "init", phase: "Plan", items: ["a"] });
  const { todoPhases } = await rpi.ok("get_state");
  await rpi.run("second");
  const { sessionFile: parent } = await rpi.ok("get_state");
  const before = readFileSync(parent, "utf8");
  const { messages } = await rpi.ok("get_fork_messages");
  expect(messages.map(({ text }: { text: string }) => text)).toEqual(["first", "second"]);
  expect(await rpi.ok("fork", { entryId: messages[1].entryId })).toEqual({ text: "second", cancelled: false });
  const { sessionFile: fork, ...state } = await rpi.ok("get_state");
  expect(state).toMatchObject({ messageCount: 2, todoPhases, model: { id: "faux-1" } });
  expect(header(fork).parentSession).toBe(parent);
  await rpi.run("second, but otherwise");
  expect((await rpi.ok("get_messages")).messages.map(textOf)).toEqual(["first", "one", "second, but otherwise", "three"]);
  expect(readFileSync(parent, "utf8")).toBe(before);
});

test("a fork before the first message is empty and takes the next prompt", async () => {
  await using rpi = await start({ turns: answers });
  await rpi.run("first");
  const [{ entryId }] = (await rpi.ok("get_fork_messages")).messages;
  expect(await rpi.ok("fork", { entryId })).toEqual({ text: "first", cancelled: false });
  expect((await rpi.ok("get_state")).messageCount).toBe(0);
  await rpi.run("first again");
  expect((await rpi.ok("get_messages")).messages.map(textOf)).toEqual(["first again", "two"]);
});

test("only user messages can be forked from, and there is a word on where they are", async () => {
  await using rpi = await start({ turns: answers });
  await rpi.run("first");
  const { entries } = await rpi.ok("get_entries");
  const answer = entries.find((entry: any) => entry.message?.role === "assistant");
  expect(await rpi.refused("fork", { entryId: answer.id })).toEqual({ code: "invalid", error: `Entry ${answer.id} is no user message; get_fork_messages lists those that a fork can start before` });
});

test("--fork takes the talk of a session of any folder into this one; it may be open elsewhere", async () => {
  using sandbox = new Sandbox();
  const elsewhere = path.join(sandbox.dir, "elsewhere");
  mkdirSync(elsewhere);
  await using first = await start({ sandbox, cwd: elsewhere, turns: answers });
  await first.run("first");
  const { sessionId, sessionFile } = await first.ok("get_state");
  await using second = await start({ sandbox, args: ["--fork", sessionId.slice(0, -2), "--session-id", "mine"], turns: answers });
  expect(await second.ok("get_state")).toMatchObject({ sessionId: "mine", cwd: sandbox.cwd, messageCount: 2 });
  expect(header((await second.ok("get_state")).sessionFile)).toMatchObject({ id: "mine", cwd: sandbox.cwd, parentSession: sessionFile });
  await first.run("goes on");
  expect((await second.ok("get_state")).messageCount).toBe(2);
});

test("a start that fails leaves no fork behind", async () => {
  using sandbox = new Sandbox();
  await using first = await start({ sandbox, turns: answers });
  await first.run("first");
  const { sessionFile } = await first.ok("get_state");
  await using second = await start({ sandbox, model: "faux/none", args: ["--fork", sessionFile] });
  expect(await second.exit()).toEqual({ code: 1, signal: null });
  expect(second.records).toMatchObject([{ command: "initialize", success: false, code: "not_found", error: expect.stringContaining("Model not found: faux/none") }]);
  expect(readdirSync(path.dirname(sessionFile))).toEqual([path.basename(sessionFile)]);
});
