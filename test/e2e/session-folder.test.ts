import { expect, test } from "bun:test";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { start } from "../support/rpi.ts";
import { Sandbox } from "../support/sandbox.ts";

/** A session that was begun in a folder of its own; gives its file. */
async function begun(sandbox: Sandbox, folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  await using rpi = await start({ sandbox, cwd: folder, turns: [[{ text: "hi" }]] });
  await rpi.run("hello");
  const { sessionFile } = await rpi.ok("get_state");
  await rpi.finish();
  return sessionFile;
}

test("a session is resumed in its own folder", async () => {
  using sandbox = new Sandbox();
  const folder = path.join(sandbox.dir, "elsewhere");
  const file = await begun(sandbox, folder);
  await using rpi = await start({ sandbox, args: ["--session", file] });
  expect((await rpi.ok("get_state")).cwd).toBe(folder);
  expect((await rpi.ok("bash", { command: "pwd" })).output).toBe(`${folder}\n`);
});

test("a folder that is gone is told, and the session goes on where rpi was started", async () => {
  using sandbox = new Sandbox();
  const folder = path.join(sandbox.dir, "gone");
  const file = await begun(sandbox, folder);
  rmSync(folder, { recursive: true });
  await using rpi = await start({ sandbox, args: ["--session", file] });
  expect((await rpi.ok("get_state")).cwd).toBe(sandbox.cwd);
  expect(rpi.events("notice")).toEqual([{ type: "notice", level: "warning", code: "session_folder_gone", message: expect.stringContaining(folder) }]);
  expect((await rpi.ok("bash", { command: "pwd" })).output).toBe(`${sandbox.cwd}\n`);
  // The same by a command.
  await rpi.ok("new_session");
  const from = rpi.mark();
  await rpi.ok("switch_session", { sessionPath: file });
  expect(rpi.events("notice", from).map((notice) => notice["code"])).toEqual(["session_folder_gone"]);
  expect(rpi.events("session_started", from).map((record) => record["data"].cwd)).toEqual([sandbox.cwd]);
});

test("-C wins over the session's folder", async () => {
  using sandbox = new Sandbox();
  const file = await begun(sandbox, path.join(sandbox.dir, "first"));
  const other = path.join(sandbox.dir, "second");
  mkdirSync(other);
  await using rpi = await start({ sandbox, args: ["--session", file, "-C", other] });
  expect((await rpi.ok("get_state")).cwd).toBe(other);
});

test("a folder has the same sessions when -C names it by a link", async () => {
  using sandbox = new Sandbox();
  const folder = path.join(sandbox.dir, "real");
  const file = await begun(sandbox, folder);
  symlinkSync(folder, path.join(sandbox.cwd, "link"));
  await using rpi = await start({ sandbox, args: ["-C", "link", "-c"] });
  expect(await rpi.ok("get_state")).toMatchObject({ cwd: folder, sessionFile: file });
});

test("a folder deeper than a name can be has sessions like any other", async () => {
  using sandbox = new Sandbox();
  const folder = path.join(sandbox.dir, ...Array.from({ length: 5 }, () => "deep".repeat(16)));
  const file = await begun(sandbox, folder);
  await using rpi = await start({ sandbox, cwd: folder, args: ["-c"] });
  expect(await rpi.ok("get_state")).toMatchObject({ cwd: folder, sessionFile: file, messageCount: 2 });
  expect((await rpi.ok("session_list")).sessions).toMatchObject([{ path: file }]);
});

test("a session that is taken up again has its model, its level and its queue", async () => {
  const models = [{ id: "plain" }, { id: "deep", reasoning: true }];
  await using rpi = await start({ model: "mine/plain", agentFiles: { "models.json": { providers: { mine: { baseUrl: "http://127.0.0.1:9/v1", api: "openai-completions", models } } } } });
  await rpi.ok("set_model", { provider: "mine", modelId: "deep" });
  await rpi.ok("set_thinking_level", { level: "low" });
  await rpi.ok("steer", { message: "later" });
  const { sessionFile } = await rpi.ok("get_state");
  await rpi.ok("new_session");
  await rpi.ok("set_model", { provider: "mine", modelId: "plain" });
  expect(await rpi.ok("get_state")).toMatchObject({ thinkingLevel: "off", pendingMessageCount: 0 });
  const from = rpi.mark();
  await rpi.ok("switch_session", { sessionPath: sessionFile });
  expect(rpi.records.slice(from).map((record) => record.type)).toEqual(["session_started", "queue_update", "response"]);
  expect(await rpi.ok("get_state")).toMatchObject({ model: { id: "deep" }, thinkingLevel: "low", pendingMessageCount: 1 });
});

test("a model that cannot be used any more is told, at the start and after a switch, but not where --model names another", async () => {
  using sandbox = new Sandbox();
  const models = (...ids: string[]) => sandbox.writeAgent("models.json", { providers: { mine: { baseUrl: "http://127.0.0.1:9/v1", api: "openai-completions", models: ids.map((id) => ({ id })) } } });
  models("old");
  await using first = await start({ sandbox, model: "mine/old", args: ["--name", "left behind"] });
  const { sessionFile } = await first.ok("get_state");
  await first.finish();
  models("new");
  const notice = (now: string) => ({ type: "notice", level: "warning", code: "model_unavailable", message: `The session's model mine/old cannot be used here; it goes on with ${now}` });
  await using resumed = await start({ sandbox, model: null, args: ["-c"] });
  await resumed.ok("get_state");
  expect(resumed.events("notice")).toEqual([notice("mine/new")]);
  await resumed.finish();
  await using named = await start({ sandbox, args: ["-c"] });
  await named.ok("get_state");
  expect(named.events("notice")).toEqual([]);
  await named.ok("new_session");
  await named.ok("switch_session", { sessionPath: sessionFile });
  expect(named.events("notice")).toEqual([notice("faux/faux-1")]);
});
