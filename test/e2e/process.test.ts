import { expect, test } from "bun:test";
import { isAlive } from "../support/alive.ts";
import { type FauxStep, type Rpi, start } from "../support/rpi.ts";
import { until } from "../support/until.ts";

type Spec = Record<string, unknown>;

const spawn = (rpi: Rpi, argv: string[], more: Spec = {}) => rpi.ok("process_spawn", { spec: { argv, cwd: rpi.sandbox.cwd, ...more } });
const sh = (rpi: Rpi, script: string, more?: Spec) => spawn(rpi, ["/bin/sh", "-c", script], more);
const wait = (rpi: Rpi, processId: string) => rpi.ok("process_wait", { processId });
const bytes = (chunks: { dataBase64: string }[]) => Buffer.concat(chunks.map(({ dataBase64 }) => Buffer.from(dataBase64, "base64"))).toString();
const text = async (rpi: Rpi, processId: string) => bytes((await rpi.ok("process_logs", { processId, limitBytes: 1 << 20 })).chunks);

async function shows(rpi: Rpi, processId: string, words: string): Promise<string> {
  let shown = "";
  await until(async () => (shown = await text(rpi, processId)).includes(words), () => `${words} in ${JSON.stringify(shown)}`);
  return shown;
}

/** Ignores every signal that can be ignored, in two generations. */
const STUBBORN = "trap '' TERM HUP INT; sleep 300 & echo family $!; while :; do sleep 300; done";
/** Leaves a process behind that has its own session, no streams of ours and no ear for TERM. */
const STRAY = `command -v setsid >/dev/null || exit 9; setsid sh -c 'trap "" TERM HUP; exec >/dev/null 2>&1 </dev/null; sleep 300; sleep 300' & exec >&- 2>&- <&-; sleep 300`;

test("a spec that cannot be is refused with its field or in the words that clients know, and nothing starts", async () => {
  await using rpi = await start();
  const { cwd } = rpi.sandbox;
  const cases: [Spec | undefined, string][] = [
    [undefined, "Invalid command: spec: is required (object)"],
    [{ cwd }, "Invalid command: spec.argv: is required (array)"],
    [{ argv: ["true"] }, "Invalid command: spec.cwd: is required (string)"],
    [{ argv: [], cwd }, "argv must contain a non-empty application"],
    [{ argv: [""], cwd }, "argv must contain a non-empty application"],
    [{ argv: ["true", "a\0b"], cwd }, "argv must not contain NUL"],
    [{ argv: ["true"], cwd: "relative" }, "cwd must be absolute"],
    [{ argv: ["true"], cwd: "/no/such/folder" }, "cwd does not exist"],
    [{ argv: ["true"], cwd: "/dev/null/below" }, "cwd does not exist"],
    [{ argv: ["true"], cwd: "/tmp\0" }, "cwd does not exist"],
    [{ argv: ["true"], cwd, label: "" }, "Invalid command: spec.label: must have 1 to 64 bytes"],
    [{ argv: ["true"], cwd, label: "é".repeat(33) }, "Invalid command: spec.label: must have 1 to 64 bytes"],
    [{ argv: ["true"], cwd, terminalSize: { cols: 80, rows: 24 } }, "Invalid command: spec.terminalSize: needs tty"],
    [{ argv: ["true"], cwd, tty: true, terminalSize: { cols: 80, rows: 0 } }, "Invalid command: spec.terminalSize.rows: must be from 1 to 65535"],
    [{ argv: ["true"], cwd, outputBytes: (1 << 20) + 1 }, "Invalid command: spec.outputBytes: must be from 1 to 1048576"],
    [{ argv: ["true"], cwd, timeoutMs: 0 }, "Invalid command: spec.timeoutMs: must be greater than 0"],
  ];
  for (const [spec, error] of cases) expect(await rpi.refused("process_spawn", { spec })).toEqual({ code: "invalid", error });
  expect((await rpi.refused("process_spawn", { spec: { argv: ["/no/such/program"], cwd } })).code).toBe("unavailable");
  expect([await rpi.ok("process_list"), rpi.events("process_started")]).toEqual([[], []]);
});

test("what is asked of a process that is not there, has ended or has no terminal is refused in the words that clients know", async () => {
  await using rpi = await start();
  const gone = await sh(rpi, "exit 3");
  await wait(rpi, gone.id);
  const piped = await sh(rpi, "sleep 300");
  const unknown = "0197ffff-ffff-7fff-8fff-ffffffffffff";
  const asked: [string, object, string | null, string | null][] = [
    ["process_write", { text: "x" }, "process has exited", null],
    ["process_write", { closeStdin: true }, "process has exited", null],
    ["process_write", { text: "x" }, "process has exited", "process stdin is closed"],
    ["process_keys", { keys: ["ENTER"] }, "process has exited", "process is not attached to a PTY"],
    ["process_resize", { cols: 1, rows: 1 }, "process has exited", "process is not attached to a PTY"],
    ["process_signal", { signal: "SIGINT" }, null, null],
    ["process_stop", {}, null, null],
    ["process_wait", { timeoutMs: 0 }, null, null],
  ];
  for (const [type, fields, whenGone, whenPiped] of asked) {
    expect(await rpi.refused(type, { processId: unknown, ...fields })).toEqual({ code: "not_found", error: "process not found" });
    for (const [processId, error] of [[gone.id, whenGone], [piped.id, whenPiped]] as const) {
      const answer = await rpi.ask(type, { processId, ...fields });
      expect([type, answer["success"] ? null : answer["error"]]).toEqual([type, error]);
    }
  }
  expect(await rpi.refused("process_resize", { processId: unknown, cols: 1, rows: 0 })).toEqual({ code: "invalid", error: "Invalid command: rows: must be from 1 to 65535" });
  expect(await rpi.refused("process_write", { processId: unknown })).toEqual({ code: "invalid", error: "Invalid command: dataBase64: is required, or text, or closeStdin" });
});

test("logs go on from a cursor, name what the ring has lost, and end once", async () => {
  await using rpi = await start();
  const { id } = await sh(rpi, "printf 0123456789; read x; printf abcdef", { outputBytes: 8 });
  await until(async () => (await rpi.ok("process_describe", { processId: id })).outputCursor === 10, () => "ten bytes");
  const chunk = (startCursor: number, words: string) => [{ startCursor, cursor: startCursor + words.length, stream: "combined", dataBase64: Buffer.from(words).toString("base64") }];
  const logs = (fields: object) => rpi.ok("process_logs", { processId: id, ...fields });
  expect(await logs({})).toEqual({ requestedCursor: 0, startCursor: 2, cursor: 10, lost: true, lostBytes: 2, chunks: chunk(2, "23456789"), eof: false });
  expect(await logs({ cursor: 4, limitBytes: 3 })).toEqual({ requestedCursor: 4, startCursor: 4, cursor: 7, lost: false, lostBytes: 0, chunks: chunk(4, "456"), eof: false });
  expect(await logs({ cursor: 99 })).toEqual({ requestedCursor: 99, startCursor: 10, cursor: 10, lost: false, lostBytes: 0, chunks: [], eof: false });
  await rpi.ok("process_write", { processId: id, dataBase64: Buffer.from("\n").toString("base64") });
  await wait(rpi, id);
  expect(await logs({ cursor: 10, limitBytes: 4 })).toMatchObject({ cursor: 14, eof: false });
  expect(await logs({ cursor: 14 })).toMatchObject({ cursor: 16, chunks: chunk(14, "ef"), eof: true });
});

test("a terminal is a real one: its name, its size, a change of it, Ctrl-C as a signal, EOT at the end of input", async () => {
  await using rpi = await start();
  const { id } = await sh(rpi, "trap 'echo got it' INT; tty; stty size; read a; stty size; sleep 300; read b; echo [$a$b]; cat; echo end", { tty: true, terminalSize: { cols: 100, rows: 33 } });
  expect(await shows(rpi, id, "33 100")).toMatch(/^\/dev\/\S+\r\n33 100\r\n$/);
  await rpi.ok("process_resize", { processId: id, cols: 120, rows: 40 });
  await rpi.ok("process_keys", { processId: id, keys: ["ENTER"] });
  await shows(rpi, id, "40 120");
  await rpi.ok("process_keys", { processId: id, keys: ["CTRL_C"] });
  await shows(rpi, id, "got it");
  await rpi.ok("process_write", { processId: id, text: "é\n" });
  await shows(rpi, id, "[é]");
  await rpi.ok("process_write", { processId: id, text: "half a line", closeStdin: true });
  expect(await wait(rpi, id)).toMatchObject({ state: "exited", exitCode: 0, tty: true });
  expect(await text(rpi, id)).toEndWith("half a linehalf a lineend\r\n");
});

test.skipIf(!Bun.which("python3"))("an interpreter and a question for a password find their terminal", async () => {
  await using rpi = await start();
  const question = await spawn(rpi, ["python3", "-c", "import getpass; print('len', len(getpass.getpass()))"], { tty: true });
  await shows(rpi, question.id, "Password: ");
  await rpi.ok("process_write", { processId: question.id, text: "secret\n" });
  await wait(rpi, question.id);
  expect(await text(rpi, question.id)).toBe("Password: \r\nlen 6\r\n");

  const { id } = await spawn(rpi, ["python3", "-i", "-q"], { tty: true });
  await shows(rpi, id, ">>> ");
  await rpi.ok("process_write", { processId: id, text: "print(6*7)\n" });
  await shows(rpi, id, "\n42");
  await rpi.ok("process_write", { processId: id, text: "import time; print('zz'*2); time.sleep(300)\n" });
  await shows(rpi, id, "zzzz");
  await rpi.ok("process_keys", { processId: id, keys: ["CTRL_C"] });
  await shows(rpi, id, "KeyboardInterrupt");
  await rpi.ok("process_write", { processId: id, text: "exit(int('2') + 3)\n" });
  expect(await wait(rpi, id)).toMatchObject({ state: "exited", exitCode: 5 });
});

test("two stops, a wait and a look in one write all get their answer when it is gone, the event first", async () => {
  await using rpi = await start();
  const { id, pid } = await sh(rpi, STUBBORN);
  await shows(rpi, id, "family");
  const from = rpi.mark();
  rpi.send(...["wait", "stop", "stop", "describe"].map((name, n) => ({ id: `${name}${n}`, type: `process_${name}`, processId: id })));
  const answers = await Promise.all(["wait0", "stop1", "stop2", "describe3"].map((name) => rpi.response(name, from)));
  expect(answers.map((answer) => answer["data"].state)).toEqual(["exited", "exited", "exited", "stopping"]);
  expect(answers[1]!["data"]).toMatchObject({ exitCode: 137, signal: "SIGKILL" });
  const told = rpi.records.slice(from).map((record) => (record.type === "response" ? record["id"] : record.type));
  expect(told.indexOf("process_exited")).toBeLessThan(Math.min(...["wait0", "stop1", "stop2"].map((name) => told.indexOf(name))));
  expect(isAlive(pid)).toBe(false);
  await rpi.gone();
});

test("its own timeout is 124, death by a signal 128 and its number", async () => {
  await using rpi = await start();
  const late = await sh(rpi, "sleep 300", { timeoutMs: 100 });
  const end = await wait(rpi, late.id);
  expect([end.state, end.exitCode]).toEqual(["timed_out", 124]);
  for (const [signal, exitCode] of [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129], ["SIGQUIT", 131], ["SIGKILL", 137]] as const) {
    const { id } = await spawn(rpi, ["sleep", "300"]);
    await rpi.ok("process_signal", { processId: id, signal });
    expect(await wait(rpi, id)).toMatchObject({ state: "exited", exitCode, signal });
  }
});

for (const [name, end, code] of [
  ["the end of input", (rpi: Rpi) => rpi.closeStdin(), 0],
  ["SIGTERM", (rpi: Rpi) => rpi.signal("SIGTERM"), 143],
  ["a second signal", (rpi: Rpi) => { rpi.signal("SIGINT"); setTimeout(() => rpi.signal("SIGINT"), 130); }, 130],
  ["kill -9", (rpi: Rpi) => rpi.signal("SIGKILL"), null],
] as const) {
  test.skipIf(process.platform !== "linux")(`nothing is left after ${name}: neither what ignores TERM nor what has its own session, piped or on a terminal`, async () => {
    await using rpi = await start();
    for (const tty of [false, true]) {
      await shows(rpi, (await sh(rpi, STUBBORN, { tty })).id, "family");
      await sh(rpi, STRAY, { tty });
    }
    rpi.send({ id: "w", type: "process_wait", processId: (await rpi.ok("process_list"))[0].id });
    // A signal may overtake what is in the pipe: only what was read is owed an answer.
    await rpi.ok("get_state");
    const begun = performance.now();
    end(rpi);
    expect((await rpi.exit()).code).toBe(code);
    expect(performance.now() - begun).toBeLessThan(3000);
    await rpi.gone();
    if (name === "the end of input" || name === "SIGTERM") {
      expect(rpi.events("process_exited").length).toBe(4);
      expect((await rpi.response("w"))["data"]).toMatchObject({ state: "exited", signal: "SIGKILL" });
    }
  });
}

test("what is started while a session is being replaced goes with it, and the next session begins without any", async () => {
  await using rpi = await start();
  await shows(rpi, (await sh(rpi, STUBBORN)).id, "family");
  rpi.send({ id: "n", type: "new_session" });
  await until(async () => (await rpi.ok("process_list")).some((info: { state: string }) => info.state === "stopping"), () => "the stop to have begun");
  const late = await sh(rpi, STUBBORN);
  await rpi.response("n");
  expect(await rpi.ok("process_list")).toEqual([]);
  expect(isAlive(late.pid)).toBe(false);
  const types = rpi.records.map(({ type }) => type);
  expect(types.lastIndexOf("process_exited")).toBeLessThan(types.lastIndexOf("session_started"));
  await rpi.gone();
});

test("a flood of output keeps the memory flat and the answers quick, and its cursors fit", async () => {
  await using rpi = await start({ checksShapes: false });
  await rpi.ok("get_state");
  const { id } = await sh(rpi, "yes 0123456789012345678901234567890123456789 | head -c 200000000");
  const before = rpi.memory().rssBytes;
  let slowestMs = 0;
  for (let state = "running"; state === "running"; ) {
    const begun = performance.now();
    await rpi.ok("get_state");
    slowestMs = Math.max(slowestMs, performance.now() - begun);
    ({ state } = await rpi.ok("process_describe", { processId: id }));
  }
  expect(await rpi.ok("process_describe", { processId: id })).toMatchObject({ exitCode: 0, outputCursor: 200_000_000, outputStartCursor: 200_000_000 - (1 << 20) });
  expect(rpi.memory().peakBytes - before).toBeLessThan(100e6);
  expect(slowestMs).toBeLessThan(250);
  let cursor = 0;
  for (const record of rpi.events("process_output")) {
    expect(record["startCursor"]).toBeGreaterThanOrEqual(cursor);
    cursor = record["cursor"];
  }
}, 30_000);

test("the model's process tool works on the processes that the client sees", async () => {
  const call = (args: object): FauxStep[] => [{ toolCall: { name: "process", arguments: args } }];
  await using rpi = await start({
    args: ["--tools", "process"],
    turns: [
      call({ action: "start", command: "printf '\\033[31mup\\033[0m\\n'; read x; echo got $x; sleep 300", label: "server", until: "up" }),
      call({ action: "write", id: "server", text: "q\n", until: "got q" }),
      call({ action: "list" }),
      call({ action: "stop", id: "server" }),
      call({ action: "stop", id: "nobody" }),
      [{ text: "done" }],
    ],
  });
  const run = await rpi.run("go");
  const results = run.records.filter(({ type }) => type === "tool_execution_end");
  expect(results.map((record) => record["isError"])).toEqual([false, false, false, false, true]);
  const texts = results.map((record) => record["result"].content[0].text as string);
  expect(texts[0]).toContain("\n\nup\n");
  expect(texts[1]).toContain("\n\ngot q\n");
  expect(texts[3]).toContain("exited, SIGTERM");
  expect(await rpi.ok("process_list")).toMatchObject([{ label: "server", state: "exited", exitCode: 143 }]);
  expect(rpi.records.filter(({ type }) => type === "process_started" || type === "process_exited").length).toBe(2);
});
