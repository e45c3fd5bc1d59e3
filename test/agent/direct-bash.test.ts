import { afterAll, describe, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Children } from "../../src/process/children.ts";
import { removeOutputFiles } from "../../src/process/output-files.ts";
import { Session } from "../../src/session/session.ts";
import { asks, call, diskFull, gate, hangs, rig, start, text, tool } from "./rig.ts";

const children = new Children({ env: process.env, hiddenNames: new Set() });
const own = (o: Parameters<typeof rig>[0] = {}) => rig({ ...o, more: { ...o.more, children: async () => children } });
const roles = ({ session }: ReturnType<typeof rig>) => session.messages().map(({ role }) => role);

afterAll(() => children.stopAll(100));

describe("a direct command", () => {
  test("answers with its output, tells it as it comes, and becomes a message at once", async () => {
    const r = own();
    expect(await r.agent.bash({ command: "echo out; echo err >&2; exit 3", requestId: "b" })).toEqual({ output: "out\nerr\n", stdout: "out\nerr\n", exitCode: 3, cancelled: false, truncated: false });
    expect(r.events.every((event) => event.type === "bash_execution_update" && event.id === "b")).toBe(true);
    expect(r.events.map((event) => (event.type === "bash_execution_update" ? event.delta : "")).join("")).toBe("out\nerr\n");
    expect(r.session.messages()).toEqual([{ role: "bashExecution", command: "echo out; echo err >&2; exit 3", output: "out\nerr\n", exitCode: 3, cancelled: false, truncated: false, timestamp: expect.any(Number) }]);
  });

  test("reaches the model with the next prompt unless it is excluded", async () => {
    const r = own();
    await r.agent.bash({ command: "echo seen" });
    await r.agent.bash({ command: "echo hidden", excludeFromContext: true });
    await r.run("hi");
    expect(r.requests[0]?.messages.map(({ role }) => role)).toEqual(["user", "user"]);
    expect(JSON.stringify(r.requests[0]?.messages)).toMatch(/seen/);
    expect(JSON.stringify(r.requests[0]?.messages)).not.toMatch(/hidden/);
    expect(r.session.messages()[1]).toMatchObject({ excludeFromContext: true });
  });

  test("during a run comes after the results of the turn, never between a call and its result", async () => {
    const begun = gate();
    const go = gate();
    const r = own({ steps: [asks(call("wait"))], tools: [tool("wait", async () => { begun.open(); await go.promise; return text("x"); })] });
    start(r.agent, "hi");
    await begun.promise;
    await r.agent.bash({ command: "echo beside" });
    expect(roles(r)).toEqual(["user", "assistant"]);
    go.open();
    await r.agent.whenIdle();
    expect(roles(r)).toEqual(["user", "assistant", "toolResult", "bashExecution", "assistant"]);
  });

  test("is stopped by abortBash, which leaves a run alone", async () => {
    const r = own({ steps: [hangs()] });
    start(r.agent, "hi");
    const commands = [r.agent.bash({ command: "sleep 20" }), r.agent.bash({ command: "sleep 21" })];
    r.agent.abortBash();
    expect(await Promise.all(commands)).toMatchObject([{ cancelled: true, exitCode: null }, { cancelled: true, exitCode: null }]);
    expect(r.agent.isStreaming).toBe(true);
    await r.agent.abort();
    expect(roles(r)).toEqual(["user", "assistant", "bashExecution", "bashExecution"]);
  });

  test("is stopped by abort, which waits for its end", async () => {
    const r = own();
    const command = r.agent.bash({ command: "echo begun; sleep 20" });
    await r.event(({ type }) => type === "bash_execution_update");
    await r.agent.abort();
    expect(r.agent.isIdle).toBe(true);
    expect(await command).toMatchObject({ output: "begun\n", cancelled: true, exitCode: null });
  });

  test("leaves the file with its whole output behind only for a session that is a file too", async () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), "rpi-bash-"));
    try {
      const inFile = Session.create({ cwd: dir, dir });
      const results = await Promise.all([own({ session: inFile }), own()].map(({ agent }) => agent.bash({ command: "seq 1 20000" })));
      removeOutputFiles();
      expect(results.map(({ truncated, fullOutputPath }) => [truncated, fs.existsSync(fullOutputPath ?? "")])).toEqual([[true, true], [true, false]]);
      fs.rmSync(results[0]!.fullOutputPath!);
      inFile.close();
    } finally {
      fs.rmSync(dir, { recursive: true, force: true });
    }
  });

  test("that cannot be stored is answered all the same, and the loss is told", async () => {
    const r = own();
    r.session.append = () => { throw diskFull(); };
    expect(await r.agent.bash({ command: "true" })).toMatchObject({ exitCode: 0 });
    expect(r.events).toEqual([{ type: "notice", level: "warning", code: "not_stored", message: "The result of a bash command could not be stored: ENOSPC: no space left on device" }]);
  });
});
