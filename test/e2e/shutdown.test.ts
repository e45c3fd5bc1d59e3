import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { binary, type FauxStep, start } from "../support/rpi.ts";
import { Sandbox } from "../support/sandbox.ts";
import { until } from "../support/until.ts";

const bash = (command: string): FauxStep => ({ toolCall: { name: "bash", arguments: { command } } });
const endless: FauxStep[] = [{ text: "begun " }, { delayMs: 600_000 }, { text: "never" }];
const stubborn = [[bash("trap '' TERM INT HUP; echo trapping; while :; do sleep 1; done")]];

/** A run that has begun to answer, or whose tool has begun. */
async function underWay(turns: FauxStep[][], args: string[] = []) {
  const rpi = await start({ turns, args });
  const { from, id } = await rpi.begin("go");
  await rpi.event((record) => record.type === "message_update" || record.type === "tool_execution_update", { from, what: "the run to be under way" });
  if (turns !== stubborn) return { rpi, from, id };
  await rpi.event((record) => JSON.stringify(record).includes("trapping") && record.type === "tool_execution_update", { from, what: "the trap" });
  return { rpi, from, id };
}

test("end of input lets the run, its queue and a bash end, then 0", async () => {
  await using rpi = await start({ turns: [[{ text: "a" }, { delayMs: 300 }], [{ text: "b" }]] });
  rpi.send({ id: "p", type: "prompt", message: "x" }, { id: "f", type: "follow_up", message: "y" }, { id: "b", type: "bash", command: "sleep 0.5; echo done" });
  rpi.closeStdin();
  expect(await rpi.exit()).toEqual({ code: 0, signal: null });
  expect((await rpi.response("b"))["data"].output).toBe("done\n");
  expect(rpi.events("agent_settled")).toEqual([{ type: "agent_settled", aborted: false, stopReason: "stop", promptIds: ["p", "f"] }]);
  expect(rpi.events("message_end").filter((record) => record["message"].role === "assistant").length).toBe(2);
});

test("a last line without LF is run before the end", async () => {
  await using rpi = await start({ turns: [[{ text: "answered" }]] });
  rpi.sendRaw('{"id":"p","type":"prompt","message":"x"}');
  rpi.closeStdin();
  expect((await rpi.exit()).code).toBe(0);
  expect(rpi.records.at(-1)).toMatchObject({ type: "agent_settled", aborted: false });
});

test("the end of input right after any one command ends it", async () => {
  const lines: object[] = [
    { type: "new_session" }, { type: "clone" }, { type: "fork", entryId: "none" }, { type: "switch_session", sessionPath: "/none" }, { type: "compact" }, { type: "abort" },
    { type: "bash" }, { type: "bash", command: "true" }, { type: "process_list" }, { type: "session_list" }, { type: "todo_op", op: "view" }, { type: "nonsense" },
  ];
  for (const line of lines) {
    await using rpi = await start({ checksShapes: false });
    rpi.send({ id: "x", ...line });
    rpi.closeStdin();
    expect([line, await rpi.exit()]).toEqual([line, { code: 0, signal: null }]);
    expect(rpi.events("response").length).toBe(1);
  }
});

test("--on-eof abort aborts the run", async () => {
  const { rpi } = await underWay([endless], ["--on-eof", "abort"]);
  await using _ = rpi;
  rpi.closeStdin();
  expect(await rpi.exit()).toEqual({ code: 0, signal: null });
  expect(rpi.events("agent_settled").map((record) => record["aborted"])).toEqual([true]);
});

test("--on-eof abort aborts a run that was about to begin, too", async () => {
  const { rpi } = await underWay([endless, endless], ["--on-eof", "abort"]);
  await using _ = rpi;
  rpi.send({ type: "new_session" }, { id: "late", type: "prompt", message: "again" });
  rpi.closeStdin();
  expect(await rpi.exit()).toEqual({ code: 0, signal: null });
  expect((await rpi.response("late"))["success"]).toBe(true);
  expect(rpi.events("agent_settled").map((record) => record["aborted"])).toEqual([true, true]);
});

test("a --drain-timeout longer than any timer lets the run end", async () => {
  await using rpi = await start({ turns: [[{ text: "a" }, { delayMs: 200 }]], args: ["--drain-timeout", "100000h"] });
  rpi.send({ type: "prompt", message: "go" });
  expect(await rpi.finish()).toEqual({ code: 0, signal: null });
  expect(rpi.events("agent_settled").map((record) => record["aborted"])).toEqual([false]);
});

test("--drain-timeout bounds the wait, then it is 1", async () => {
  const { rpi } = await underWay([endless], ["--drain-timeout", "300ms"]);
  await using _ = rpi;
  const begin = performance.now();
  rpi.closeStdin();
  expect(await rpi.exit()).toEqual({ code: 1, signal: null });
  expect(performance.now() - begin).toBeGreaterThan(280);
  expect(rpi.events("agent_settled").map((record) => record["aborted"])).toEqual([true]);
});

test("each signal aborts, writes what is due and has its code, within 0.8 s and a little", async () => {
  for (const [signal, code] of [["SIGTERM", 143], ["SIGHUP", 129], ["SIGINT", 130]] as const) {
    for (const turns of [[endless], stubborn]) {
      const { rpi } = await underWay(turns);
      await using _ = rpi;
      const { sessionFile } = await rpi.ok("get_state");
      const begin = performance.now();
      rpi.signal(signal);
      expect(await rpi.exit()).toEqual({ code, signal: null });
      expect(performance.now() - begin).toBeLessThan(1000);
      expect(rpi.events("agent_settled").map((record) => record["aborted"])).toEqual([true]);
      const kept = readFileSync(sessionFile, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
      const last = kept.filter((entry) => entry.message).at(-1).message;
      expect(turns === stubborn ? last.isError : last.stopReason).toEqual(turns === stubborn ? true : "aborted");
      await rpi.gone();
    }
  }
}, 60_000);

test("a signal while idle ends it at once", async () => {
  await using rpi = await start();
  await rpi.ok("get_state");
  const begin = performance.now();
  rpi.signal("SIGTERM");
  expect(await rpi.exit()).toEqual({ code: 143, signal: null });
  expect(performance.now() - begin).toBeLessThan(400);
});

test("a signal answers every request that is in flight", async () => {
  await using rpi = await start();
  rpi.send(...["a", "b", "c"].map((id) => ({ id, type: "bash", command: "echo begun; trap '' TERM; sleep 30 & wait; sleep 30" })));
  await rpi.event(() => rpi.events("bash_execution_update").length === 3);
  rpi.signal("SIGTERM");
  expect((await rpi.exit()).code).toBe(143);
  for (const id of ["a", "b", "c"]) {
    const answer = rpi.records.find((record) => record.type === "response" && record["id"] === id)!;
    expect(answer["success"] ? answer["data"].cancelled : answer["code"] === "cancelled").toBe(true);
  }
  await rpi.gone();
});

test("a signal lets nothing begin that waited for its turn", async () => {
  for (let round = 0; round < 10; round += 1) {
    const { rpi } = await underWay([endless, endless]);
    await using _ = rpi;
    rpi.send({ id: "n", type: "new_session" }, { id: "p", type: "prompt", message: "again" }, { id: "g", type: "get_messages" });
    await rpi.ok("get_state");
    rpi.signal("SIGTERM");
    expect(await rpi.exit()).toEqual({ code: 143, signal: null });
    const [starts, ends] = [rpi.events("agent_start").length, rpi.events("agent_settled").length];
    expect(ends).toBe(starts);
    for (const id of ["n", "p", "g"]) expect(rpi.events("response").filter((record) => record["id"] === id).length).toBe(1);
  }
}, 30_000);

test("a first signal during the last flush leaves it its time", async () => {
  await using rpi = await start({ turns: [[{ text: "x".repeat(1_000_000) }]] });
  await rpi.run("x");
  await rpi.ok("process_spawn", { spec: { argv: ["sleep", "61"], cwd: "/" } });
  rpi.pauseReading();
  rpi.send({ id: "m", type: "get_messages" });
  rpi.closeStdin();
  // Processes are stopped before the last flush.
  await rpi.gone();
  rpi.signal("SIGTERM");
  // Longer than two signals may lie apart.
  await Bun.sleep(200);
  rpi.resumeReading();
  expect(await rpi.exit()).toEqual({ code: 143, signal: null });
  expect((await rpi.response("m"))["success"]).toBe(true);
});

test("during the drain a signal makes it an abort", async () => {
  const { rpi } = await underWay([endless]);
  await using _ = rpi;
  rpi.closeStdin();
  // Nothing tells that the end of input was seen.
  await Bun.sleep(100);
  rpi.signal("SIGTERM");
  expect(await rpi.exit()).toEqual({ code: 143, signal: null });
  expect(rpi.events("agent_settled").map((record) => record["aborted"])).toEqual([true]);
});

test("a second signal ends at once, one within 100 ms of the first changes nothing", async () => {
  for (const gapMs of [0, 150]) {
    const { rpi } = await underWay(stubborn);
    await using _ = rpi;
    rpi.signal("SIGTERM");
    const begin = performance.now();
    // The gap is what is tested.
    await Bun.sleep(gapMs);
    rpi.signal("SIGTERM");
    expect((await rpi.exit()).code).toBe(143);
    if (gapMs === 0) expect(rpi.events("agent_settled").length).toBe(1);
    else expect(performance.now() - begin).toBeLessThan(400);
    await rpi.gone();
  }
});

test("end of input and a signal together are one orderly shutdown", async () => {
  for (let round = 0; round < 10; round += 1) {
    const { rpi } = await underWay([endless]);
    await using _ = rpi;
    if (round % 2 === 0) rpi.closeStdin();
    rpi.signal("SIGTERM");
    if (round % 2 === 1) rpi.closeStdin();
    expect(await rpi.exit()).toEqual({ code: 143, signal: null });
    expect(rpi.events("agent_settled").length).toBe(1);
  }
}, 30_000);

test("a reader that is gone ends it with 1 and its children, streaming, in a silent tool, or idle", async () => {
  const streaming: FauxStep[] = Array.from({ length: 2000 }, () => [{ text: "word " }, { delayMs: 20 }] as FauxStep[]).flat();
  for (const turns of [[streaming], [[bash("echo begun; sleep 47")]], []]) {
    const { rpi } = turns.length > 0 ? await underWay(turns) : { rpi: await start() };
    await using _ = rpi;
    await rpi.ok("get_state");
    const begin = performance.now();
    await rpi.closeStdout();
    expect(await rpi.exit()).toEqual({ code: 1, signal: null });
    expect(performance.now() - begin).toBeLessThan(3000);
    await rpi.gone();
  }
});

test("kill -9 leaves no child, also none with a session of its own", async () => {
  await using rpi = await start({ turns: [[bash("sleep 48")]] });
  await rpi.begin("go");
  rpi.send({ id: "b", type: "bash", command: `${existsSync("/proc/self/environ") && Bun.which("setsid") ? "setsid sleep 51 & " : ""}sleep 49 & sleep 50` });
  await until(() => ["sleep 48", "sleep 49", "sleep 50"].every((command) => rpi.leftovers().some((row) => row.command === command)), "the children to run");
  rpi.signal("SIGKILL");
  await rpi.exit();
  await rpi.gone();
});

test("a parent that is gone while stdout is still read is no reason to stop", async () => {
  using sandbox = new Sandbox();
  const script = sandbox.writeScript([[{ text: "still here" }]]);
  // The inner shell ends at once; the outer one keeps the pipes and reads on.
  const child = Bun.spawn(["sh", "-c", 'exec 3<&0; sh -c \'"$@" <&3 3<&- & exit 0\' sh "$@" | cat', "sh", await binary(), "rpc", "--model", "faux/faux-1", "--faux-script", script], {
    cwd: sandbox.cwd, env: sandbox.env(), stdin: "pipe", stdout: "pipe", stderr: "ignore",
  });
  // Longer than the interval in which rpi looks whether its reader is gone.
  await Bun.sleep(1200);
  child.stdin.write('{"type":"prompt","message":"x"}\n');
  child.stdin.end();
  const text = await child.stdout.text();
  expect(text).toContain('"still here"');
  expect(text.trimEnd().split("\n").at(-1)).toContain('"agent_settled"');
});

test("everything is written before the end, also to a reader that comes late", async () => {
  await using rpi = await start({ files: { "big.txt": "0123456789abcdef\n".repeat(2500) } });
  await rpi.ok("get_state");
  rpi.pauseReading();
  const ids = Array.from({ length: 40 }, (_, i) => `b${i}`);
  rpi.send(...ids.map((id) => ({ id, type: "bash", command: "cat big.txt" })));
  rpi.closeStdin();
  await until(() => rpi.leftovers().length === 0 || rpi.memory().rssBytes > 0, "the commands to run");
  await Bun.sleep(1000);
  rpi.resumeReading();
  expect((await rpi.exit()).code).toBe(0);
  expect(rpi.events("response").flatMap((record) => (record["command"] === "bash" ? [record["id"]] : [])).sort()).toEqual([...ids].sort());
});

test("a slow reader gets everything, however soon the end of input came", async () => {
  using sandbox = new Sandbox();
  const child = Bun.spawn([await binary(), "rpc"], { cwd: sandbox.cwd, env: sandbox.env(), stdin: "pipe", stdout: "pipe", stderr: "ignore" });
  const ids = Array.from({ length: 200 }, (_, i) => `r${i}`);
  child.stdin.write(ids.map((id) => `{"id":"${id}","type":"get_state"}\n`).join(""));
  child.stdin.end();
  // 3 KB in 4 s, and then the rest.
  const slow = Bun.spawn(["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do head -c 400; sleep 0.5; done; cat"], { stdin: child.stdout, stdout: "pipe" });
  const records = (await slow.stdout.text()).trimEnd().split("\n").map((line) => JSON.parse(line));
  expect(await child.exited).toBe(0);
  expect(records.flatMap((record) => record.id ?? [])).toEqual(ids);
});

test("a reader that takes nothing for 3 s ends the last flush with 1", async () => {
  await using rpi = await start({ turns: [[{ text: "x".repeat(3_000_000) }]] });
  await rpi.ok("get_state");
  rpi.pauseReading();
  rpi.send({ type: "prompt", message: "x" }, { id: "m", type: "get_messages" });
  await Bun.sleep(500);
  const begin = performance.now();
  rpi.signal("SIGTERM");
  await until(() => !existsSync(`/proc/${rpi.pid}`) || readFileSync(`/proc/${rpi.pid}/stat`, "utf8").includes(") Z "), "the end", 8000);
  expect(performance.now() - begin).toBeLessThan(5000);
  rpi.resumeReading();
  expect((await rpi.exit()).code).toBe(1);
});
