import { describe, expect, test } from "bun:test";
import { readFileSync, readdirSync } from "node:fs";
import type { Child } from "../../src/process/child.ts";
import { LAST_WILL } from "../../src/process/reaper.ts";
import { isAlive } from "../support/alive.ts";
import { until } from "../support/until.ts";
import { familyIn, fixture, makeChildren, untilGone } from "./rig.ts";

const start = (children: ReturnType<typeof makeChildren>, name: string, o: object = {}) =>
  children.run({ argv: ["/bin/sh", fixture(name)], cwd: "/", owner: "shell", ...o });

async function textOf(child: Child): Promise<string> {
  let text = "";
  for (let bytes = await child.output!.read(); bytes; bytes = await child.output!.read()) text += Buffer.from(bytes).toString();
  return text;
}

/** The pids that a fixture prints first. */
async function family(child: Child): Promise<number[]> {
  const bytes = await child.output!.read();
  return familyIn(Buffer.from(bytes ?? []).toString());
}

describe("a child", () => {
  test("has both streams as one, in order, and an exit code", async () => {
    await using children = makeChildren();
    const child = children.run({ argv: ["/bin/sh", "-c", "for i in 1 2 3; do echo out $i; echo err $i >&2; done; exit 3"], cwd: "/", owner: "shell" });
    expect(await textOf(child)).toBe("out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n");
    expect(await child.ended).toEqual({ why: "exit", exitCode: 3 });
    expect(children.alive).toBe(0);
  });

  test("that dies of a signal has 128 and more for its exit code", async () => {
    await using children = makeChildren();
    const child = children.run({ argv: ["/bin/sh", "-c", "kill -9 $$"], cwd: "/", owner: "shell" });
    expect(await child.ended).toEqual({ why: "exit", exitCode: 137, signal: "SIGKILL" });
  });

  test("reads what is written to its stdin, and its end", async () => {
    await using children = makeChildren();
    const child = children.run({ argv: ["cat"], cwd: "/", owner: "process", hasStdin: true });
    child.input!.write(Buffer.from("x".repeat(300_000)));
    child.input!.end();
    expect((await textOf(child)).length).toBe(300_000);
    expect((await child.ended).exitCode).toBe(0);
    expect([child.input!.waitingBytes, child.input!.isEnded]).toEqual([0, true]);
  });

  test("without a stdin reads its end at once", async () => {
    await using children = makeChildren();
    expect(await textOf(children.run({ argv: ["cat"], cwd: "/", owner: "shell" }))).toBe("");
  });

  test("does not see what is hidden from it, and is found by its own PATH", async () => {
    await using children = makeChildren({ ...process.env, SECRET: "s3cret", SHOWN: "yes" }, ["SECRET"]);
    const child = children.run({ argv: ["sh", "-c", "echo [$SECRET] [$SHOWN] [$ADDED]"], cwd: "/", owner: "shell", env: { ADDED: "too" } });
    expect(await textOf(child)).toBe("[] [yes] [too]\n");
  });
});

describe("what cannot be started is refused", () => {
  const refusal = (argv: string[], cwd: string, signal?: AbortSignal) => {
    const children = makeChildren();
    try {
      children.run({ argv, cwd, owner: "shell", signal });
    } catch (error) {
      return { code: (error as { code: string }).code, message: (error as Error).message };
    }
    throw new Error("it was started");
  };

  test("with words that say why", () => {
    expect(refusal([], "/")).toEqual({ code: "invalid", message: "argv must contain a non-empty application" });
    expect(refusal(["a\0b"], "/")).toEqual({ code: "invalid", message: "argv must not contain NUL" });
    expect(refusal(["true"], "relative")).toEqual({ code: "invalid", message: "cwd must be absolute" });
    expect(refusal(["true"], "/no/such/folder")).toEqual({ code: "invalid", message: "cwd does not exist" });
    expect(refusal(["no-such-program-at-all"], "/").code).toBe("unavailable");
    expect(refusal(["no-such-program-at-all"], "/").message).toMatch(/no-such-program-at-all/);
  });

  test("when it was aborted before", () => {
    expect(refusal(["true"], "/", AbortSignal.abort()).code).toBe("cancelled");
  });
});

describe("the ladder", () => {
  test("ends a whole group by TERM", async () => {
    await using children = makeChildren();
    const child = start(children, "family.sh");
    const pids = await family(child);
    expect(pids.map(isAlive)).toEqual([true, true]);
    expect(await child.stop(5000)).toBe(true);
    expect(pids.map(isAlive)).toEqual([false, false]);
    expect(await child.ended).toEqual({ why: "stop", exitCode: 143, signal: "SIGTERM" });
  });

  test("kills after the grace what ignores TERM", async () => {
    await using children = makeChildren();
    const child = start(children, "stubborn.sh");
    const pids = await family(child);
    const from = performance.now();
    expect(await child.stop(200)).toBe(true);
    expect(performance.now() - from).toBeGreaterThanOrEqual(195);
    expect(pids.map(isAlive)).toEqual([false, false]);
    expect(await child.ended).toEqual({ why: "stop", exitCode: 137, signal: "SIGKILL" });
  });

  test("can be hurried but not slowed, and two stops are one", async () => {
    await using children = makeChildren();
    const child = start(children, "stubborn.sh");
    await family(child);
    const from = performance.now();
    expect(await Promise.all([child.stop(60_000), child.stop(50), child.stop(60_000)])).toEqual([true, true, true]);
    expect(performance.now() - from).toBeLessThan(5000);
  });

  test("the first reason to end wins", async () => {
    await using children = makeChildren();
    const abort = new AbortController();
    const child = start(children, "stubborn.sh", { signal: abort.signal, timeoutMs: 150, graceMs: 100 });
    await family(child);
    abort.abort();
    void child.stop(100);
    expect((await child.ended).why).toBe("abort");
    const late = start(children, "stubborn.sh", { signal: abort.signal.aborted ? undefined : abort.signal, timeoutMs: 20, graceMs: 20 });
    expect((await late.ended).why).toBe("timeout");
  });

  test.skipIf(process.platform !== "linux" || !Bun.which("setsid"))("reaches what made a session of its own", async () => {
    await using children = makeChildren();
    const child = children.run({ argv: ["/bin/sh", "-c", "setsid sleep 300 & echo family $!; exec sleep 300"], cwd: "/", owner: "shell" });
    const pids = await family(child);
    expect(await child.stop(5000)).toBe(true);
    expect(pids.map(isAlive)).toEqual([false]);
  });
});

describe("what a finished child leaves behind", () => {
  test("lives on until all are stopped", async () => {
    await using children = makeChildren();
    const child = children.run({ argv: ["/bin/sh", "-c", "sleep 300 & echo family $!"], cwd: "/", owner: "shell" });
    const pids = await family(child);
    expect((await child.ended).why).toBe("exit");
    expect([children.alive, isAlive(pids[0]!)]).toEqual([0, true]);
    await children.stopAll(1000);
    expect(pids.map(isAlive)).toEqual([false]);
  });

  test.skipIf(process.platform !== "linux" || !Bun.which("setsid"))("is ended with it in a session of its own too", async () => {
    await using children = makeChildren();
    const child = start(children, "stray.sh");
    const pids = await family(child);
    await child.ended;
    expect(pids.map(isAlive)).toEqual([true]);
    await children.stopAll(1000);
    expect(pids.map(isAlive)).toEqual([false]);
  });

  test("of one owner is left alone when the other's are stopped", async () => {
    await using children = makeChildren();
    const mine = children.run({ argv: ["/bin/sh", "-c", "sleep 300 & echo family $!"], cwd: "/", owner: "shell" });
    const other = start(children, "family.sh", { owner: "process" });
    const [minePids, otherPids] = [await family(mine), await family(other)];
    await mine.ended;
    await children.stopAll(1000, "process");
    expect([minePids.map(isAlive), otherPids.map(isAlive)]).toEqual([[true], [false, false]]);
  });
});

test("after the close nothing is started any more", async () => {
  const children = makeChildren();
  await children.close(0);
  expect(() => children.run({ argv: ["true"], cwd: "/", owner: "shell" })).toThrow("shutting down");
});

test.skipIf(process.platform !== "linux")("three hundred children leave no descriptor and no zombie", async () => {
  await using children = makeChildren();
  const run = async (o: object) => {
    const child = children.run({ argv: ["true"], cwd: "/", owner: "shell", signal: new AbortController().signal, timeoutMs: 60_000, ...o });
    await textOf(child);
    await child.ended;
    child.input?.close();
  };
  await run({});
  const before = readdirSync("/proc/self/fd").length;
  for (let i = 0; i < 300; i += 1) await run({ hasStdin: i % 2 === 0 });
  expect(readdirSync("/proc/self/fd").length).toBeLessThan(before + 50);
  const mine = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map((pid) => readStatus(pid));
  expect(mine.filter((status) => status.includes(`\nPPid:\t${process.pid}\n`) && /\nState:\s+Z/.test(status))).toEqual([]);
});

function readStatus(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return "";
  }
}

describe("when rpi is killed", () => {
  const kill = async (command: string, env: Record<string, string> | undefined, ...mode: string[]) => {
    const host = Bun.spawn([process.execPath, fixture("host.ts"), command, ...mode], { env: env ?? process.env, stdout: "pipe", stderr: "inherit" });
    let text = "";
    for await (const bytes of host.stdout) {
      text += Buffer.from(bytes).toString();
      if (text.includes("up\n")) break;
    }
    host.kill("SIGKILL");
    await host.exited;
    const pids = [...text.matchAll(/family (\d+)/g)].map((match) => Number(match[1]));
    await untilGone(pids, 4000);
    return pids.length;
  };
  const GROUP = "sleep 300 & echo family $!; (sleep 300 & echo family $!); echo family $$; echo up; sleep 300";

  test("its groups are killed", async () => {
    expect(await kill(GROUP, undefined)).toBe(3);
  });

  test("they are with an empty environment too", async () => {
    expect(await kill(`PATH=/usr/bin:/bin; ${GROUP}`, {})).toBe(3);
  });

  test("they are where children have no pipe of ours", async () => {
    expect(await kill(GROUP, undefined, "without-pipes")).toBe(3);
  });

  test.skipIf(process.platform !== "linux" || !Bun.which("setsid"))("so is what made a session of its own", async () => {
    expect(await kill(`setsid sleep 300 & echo family $!; (setsid sleep 300 & echo family $!); ${GROUP}`, undefined)).toBe(5);
  });
});

test.skipIf(process.platform !== "linux")("the reaper needs no other program", async () => {
  const mark = `RPI_TEST_MARK_${process.pid}`;
  const marked = Bun.spawn(["sleep", "300"], { env: { ...process.env, [mark]: "1", LINES: "a\nb" } });
  const unmarked = Bun.spawn(["sleep", "300"]);
  const reaper = Bun.spawn(["/bin/sh", "-c", LAST_WILL, "rpi-reaper", mark], { env: { PATH: "/nowhere" }, stdin: "pipe" });
  await reaper.stdin.end();
  expect(await reaper.exited).toBe(0);
  expect(await marked.exited).toBe(137);
  expect(unmarked.exitCode).toBe(null);
  unmarked.kill();
});

test.skipIf(process.platform !== "linux")("the reaper also finds what was still being started as rpi died", async () => {
  const mark = `RPI_TEST_MARK_LATE_${process.pid}`;
  const reaper = Bun.spawn(["/bin/sh", "-c", LAST_WILL, "rpi-reaper", mark], { stdin: "pipe" });
  await reaper.stdin.end();
  // Between its fork and its exec a child has no mark yet; on a busy system that may last.
  await Bun.sleep(200);
  const late = Bun.spawn(["sleep", "300"], { env: { ...process.env, [mark]: "1" } });
  expect(await late.exited).toBe(137);
  expect(await reaper.exited).toBe(0);
});

test.skipIf(process.platform !== "linux")("many children that end together look at all processes together", async () => {
  await using children = makeChildren();
  const many = Array.from({ length: 200 }, () => children.run({ argv: ["sleep", "300"], cwd: "/", owner: "process" }));
  const before = process.cpuUsage();
  await Promise.all(many.map((child) => child.stop(300)));
  // Each on its own they would read two hundred times two hundred environments, several times over.
  expect(process.cpuUsage(before).user + process.cpuUsage(before).system).toBeLessThan(500_000);
  expect(children.alive).toBe(0);
});

test.skipIf(process.platform !== "linux")("a reaper that somebody killed is replaced, and knows the older groups", async () => {
  const host = Bun.spawn([process.execPath, fixture("two-commands.ts")], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  let text = "";
  const reader = host.stdout.getReader();
  const read = async (what: string) => {
    while (!text.includes(what)) text += Buffer.from((await reader.read()).value ?? []).toString();
  };
  await read("first");
  const reapers = () => readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isReaperOf(host.pid, name)).map(Number);
  const [first] = reapers();
  process.kill(first!, "SIGKILL");
  await until(() => !isAlive(first!), "the end of the reaper");
  host.stdin.write("\n");
  await host.stdin.end();
  await read("second");
  expect(reapers().length).toBe(1);
  host.kill("SIGKILL");
  await host.exited;
  const pids = [...text.matchAll(/family (\d+)/g)].map((match) => Number(match[1]));
  expect(pids.length).toBe(2);
  await untilGone(pids, 4000);
});

function isReaperOf(parent: number, pid: string): boolean {
  try {
    const isChild = readFileSync(`/proc/${pid}/status`, "utf8").includes(`\nPPid:\t${parent}\n`);
    return isChild && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("rpi-reaper") && isAlive(Number(pid));
  } catch {
    return false;
  }
}
