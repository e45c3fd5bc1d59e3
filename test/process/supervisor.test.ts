import { describe, expect, test } from "bun:test";
import type { Refusal } from "../../src/base/refusal.ts";
import type { ProcessSpec } from "../../src/process/process-spec.ts";
import { Supervisor, type ProcessEvent } from "../../src/process/supervisor.ts";
import { isAlive } from "../support/alive.ts";
import { until } from "../support/until.ts";
import { familyIn, fixture, makeChildren, untilGone } from "./rig.ts";
import { keptBytes } from "../support/heap.ts";

const NOW = 1_700_000_000_000;

function rig(o: { pressed?: () => boolean; env?: Record<string, string | undefined> } = {}) {
  const children = makeChildren(o.env);
  const events: ProcessEvent[] = [];
  const supervisor = new Supervisor({ children, emit: (event) => void events.push(event), now: () => NOW, ...(o.pressed && { pressed: o.pressed }) });
  const text = (id: string) => supervisor.logs(id).chunks.map((chunk) => Buffer.from(chunk.dataBase64, "base64").toString()).join("");
  return {
    supervisor,
    children,
    events,
    text,
    sh: (script: string, more: Partial<ProcessSpec> = {}) => supervisor.spawn({ argv: ["/bin/sh", "-c", script], cwd: "/", ...more }),
    fixture: (name: string) => supervisor.spawn({ argv: ["/bin/sh", fixture(name)], cwd: "/" }),
    shows: (id: string, pattern: RegExp) => until(() => (pattern.test(text(id)) ? text(id) : ""), () => `${pattern} in ${JSON.stringify(text(id))}`),
    write: (id: string, words: string, closeStdin = false) => supervisor.write(id, Buffer.from(words), { closeStdin }),
    [Symbol.asyncDispose]: () => children.close(0),
  };
}

function refusal(act: () => unknown): { code: string; message: string } {
  try {
    act();
  } catch (error) {
    const { code, message } = error as Refusal;
    return { code, message };
  }
  throw new Error("it was not refused");
}

describe("a process", () => {
  test("is told from its start to its end, the end after the last output", async () => {
    await using r = rig();
    const begun = r.sh("echo out; echo err >&2; exit 3", { label: "three" });
    const running = {
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/), label: "three", state: "running" as const, pid: expect.any(Number), tty: false,
      argv: ["/bin/sh", "-c", "echo out; echo err >&2; exit 3"], cwd: "/", startedAtMs: NOW, outputStartCursor: 0, outputCursor: 0,
    };
    expect(begun).toEqual(running);
    const ended = await r.supervisor.wait(begun.id);
    expect(ended).toEqual({ ...running, state: "exited", exitedAtMs: NOW, exitCode: 3, outputCursor: 8 });
    // Two writes come as one piece or as two.
    const pieces = r.events.slice(1, -1).map((event) => (event.type === "process_output" ? event : undefined));
    expect(r.events).toEqual([
      { type: "process_started", process: running },
      ...pieces.map((piece, n) => ({
        type: "process_output" as const, id: begun.id, stream: "combined" as const, startCursor: pieces[n - 1]?.cursor ?? 0, cursor: expect.any(Number), dataBase64: expect.any(String),
      })),
      { type: "process_exited", process: ended },
    ]);
    expect([pieces.at(-1)?.cursor, pieces.map((piece) => Buffer.from(piece!.dataBase64, "base64").toString()).join("")]).toEqual([8, "out\nerr\n"]);
    expect([r.supervisor.describe(begun.id), ...r.supervisor.list()]).toEqual([ended, ended]);
  });

  test("gets an environment with the overlay, null removing", async () => {
    await using r = rig({ env: { ...process.env, GIVEN: "given", GONE: "there" } });
    const { id } = r.sh('echo "$GIVEN $ADDED [${GONE-removed}]"', { env: { ADDED: "added", GONE: null } });
    await r.supervisor.wait(id);
    expect(r.text(id)).toBe("given added [removed]\n");
  });

  test("whose grandchild holds the pipe has ended all the same", async () => {
    await using r = rig();
    const { id } = r.sh("sleep 300 & echo family $!");
    expect(await r.supervisor.wait(id)).toMatchObject({ state: "exited", exitCode: 0 });
    const pids = familyIn(r.text(id));
    expect(pids.map(isAlive)).toEqual([true]);
    await r.supervisor.stop(id);
    expect(pids.map(isAlive)).toEqual([false]);
  });

  test("that closes its streams goes on", async () => {
    await using r = rig();
    const { id } = r.sh("exec >&- 2>&-; read x; exit 4");
    r.write(id, "go\n");
    expect(await r.supervisor.wait(id)).toMatchObject({ state: "exited", exitCode: 4, outputCursor: 0 });
  });
});

test("what cannot be a process is refused and leaves no record", async () => {
  await using r = rig();
  const spec = (more: object) => refusal(() => r.supervisor.spawn({ argv: ["true"], cwd: "/", ...more }));
  expect(spec({ argv: [] })).toEqual({ code: "invalid", message: "argv must contain a non-empty application" });
  expect(spec({ argv: [""] })).toEqual({ code: "invalid", message: "argv must contain a non-empty application" });
  expect(spec({ argv: ["a\0b"] })).toEqual({ code: "invalid", message: "argv must not contain NUL" });
  expect(spec({ cwd: "relative" })).toEqual({ code: "invalid", message: "cwd must be absolute" });
  expect(spec({ cwd: "/no/such/folder" })).toEqual({ code: "invalid", message: "cwd does not exist" });
  expect(spec({ label: "" }).message).toMatch(/label/);
  expect(spec({ label: "é".repeat(33) }).message).toMatch(/label/);
  expect(spec({ terminalSize: { cols: 80, rows: 24 } }).message).toMatch(/tty/);
  expect(spec({ tty: true, terminalSize: { cols: 0, rows: 24 } }).message).toMatch(/cols/);
  expect(spec({ outputBytes: 1024 * 1024 + 1 }).message).toMatch(/outputBytes/);
  expect(spec({ env: { "A=B": "x" } }).message).toMatch(/env/);
  for (const tty of [false, true]) expect(spec({ argv: ["no-such-program-at-all"], tty })).toEqual({ code: "unavailable", message: expect.stringContaining("no-such-program-at-all") });
  expect([r.supervisor.list(), r.events]).toEqual([[], []]);
});

test("an unknown id is not found, whatever is asked", async () => {
  await using r = rig();
  const s = r.supervisor;
  const notFound = { code: "not_found", message: "process not found" };
  for (const act of [() => s.describe("x"), () => s.logs("x"), () => r.write("x", "y"), () => s.keys("x", ["ENTER"]), () => s.resize("x", { cols: 1, rows: 1 }), () => s.signal("x", "SIGTERM")]) expect(refusal(act)).toEqual(notFound);
  await expect(s.stop("x")).rejects.toMatchObject(notFound);
  await expect(s.wait("x")).rejects.toMatchObject(notFound);
});

describe("input", () => {
  test("arrives in order, and its end too", async () => {
    await using r = rig();
    const { id } = r.sh("cat");
    r.write(id, "é one\n");
    r.write(id, "two\n", true);
    expect(refusal(() => r.write(id, "x"))).toEqual({ code: "unavailable", message: "process stdin is closed" });
    expect(await r.supervisor.wait(id)).toMatchObject({ state: "exited", exitCode: 0 });
    expect(r.text(id)).toBe("é one\ntwo\n");
    expect(refusal(() => r.write(id, "x"))).toEqual({ code: "unavailable", message: "process has exited" });
  });

  test("waits up to 1 MiB for the process, then it is busy", async () => {
    await using r = rig();
    const { id } = r.sh("sleep 300");
    const half = "x".repeat(600_000);
    r.write(id, half);
    r.write(id, half.slice(300_000));
    expect(refusal(() => r.write(id, half)).code).toBe("busy");
    expect(await r.supervisor.stop(id)).toMatchObject({ state: "exited", signal: "SIGTERM" });
  });

  test("to what has closed its side is refused", async () => {
    await using r = rig();
    const { id } = r.sh("exec <&-; echo closed; sleep 300");
    await r.shows(id, /closed/);
    await until(() => {
      try {
        r.write(id, "x");
        return false;
      } catch (error) {
        return (error as Refusal).message === "process stdin is closed";
      }
    }, "the refusal");
  });

  test("of keys and sizes needs a PTY", async () => {
    await using r = rig();
    const { id } = r.sh("sleep 300");
    const noPty = { code: "unavailable", message: "process is not attached to a PTY" };
    expect(refusal(() => r.supervisor.resize(id, { cols: 80, rows: 24 }))).toEqual(noPty);
    expect(refusal(() => r.supervisor.keys(id, ["ENTER"]))).toEqual(noPty);
  });
});

describe("logs", () => {
  test("go on from a cursor and say when all was read", async () => {
    await using r = rig();
    const { id } = r.sh("printf 0123456789");
    await r.supervisor.wait(id);
    const logs = (cursor: number, limitBytes?: number) => r.supervisor.logs(id, { cursor, limitBytes });
    const chunk = (startCursor: number, words: string) => [{ startCursor, cursor: startCursor + words.length, stream: "combined" as const, dataBase64: Buffer.from(words).toString("base64") }];
    expect(logs(0, 4)).toEqual({ requestedCursor: 0, startCursor: 0, cursor: 4, lost: false, lostBytes: 0, chunks: chunk(0, "0123"), eof: false });
    expect(logs(4)).toEqual({ requestedCursor: 4, startCursor: 4, cursor: 10, lost: false, lostBytes: 0, chunks: chunk(4, "456789"), eof: true });
    expect(logs(99)).toEqual({ requestedCursor: 99, startCursor: 10, cursor: 10, lost: false, lostBytes: 0, chunks: [], eof: true });
  });

  test("say what the ring has lost, while the events told all", async () => {
    await using r = rig();
    const { id } = r.sh("i=0; while [ $i -lt 1000 ]; do printf '%09d\\n' $i; i=$((i+1)); done", { outputBytes: 1000 });
    expect(await r.supervisor.wait(id)).toMatchObject({ outputStartCursor: 9000, outputCursor: 10_000 });
    const logs = r.supervisor.logs(id);
    expect(logs).toMatchObject({ startCursor: 9000, cursor: 10_000, lost: true, lostBytes: 9000, eof: true });
    expect(r.text(id)).toStartWith("000000900\n");
    const told = r.events.filter((event) => event.type === "process_output").map((event) => Buffer.from(event.dataBase64, "base64").toString()).join("");
    expect(told).toBe(Array.from({ length: 1000 }, (_, i) => `${String(i).padStart(9, "0")}\n`).join(""));
  });

  test("hold more of a flood than was told of it under pressure: its last piece", async () => {
    await using r = rig({ pressed: () => true });
    const { id } = r.sh("yes 0123456 | head -c 20000000");
    expect(await r.supervisor.wait(id)).toMatchObject({ outputCursor: 20_000_000, outputStartCursor: 20_000_000 - 1024 * 1024 });
    expect(r.events.map(({ type }) => type)).toEqual(["process_started", "process_output", "process_exited"]);
    expect(r.events[1]).toMatchObject({ startCursor: 20_000_000 - 65_536, cursor: 20_000_000 });
  });

  test("can be waited for", async () => {
    await using r = rig();
    const { id } = r.sh("read x; echo got $x; read y; exit 0");
    const { signal } = new AbortController();
    const more = r.supervisor.untilOutput(id, 0, signal);
    r.write(id, "it\n");
    await more;
    const last = r.supervisor.untilOutput(id, 7, signal);
    r.write(id, "\n");
    await last;
    expect(r.supervisor.describe(id).state).toBe("exited");
    const { id: silent } = r.sh("sleep 300");
    await expect(r.supervisor.untilOutput(silent, 0, AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
    const abort = new AbortController();
    const waiting = r.supervisor.untilOutput(silent, 0, abort.signal);
    abort.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
  });
});

describe("the end", () => {
  test("by a signal to the whole group has its name and number", async () => {
    await using r = rig();
    const { id } = r.fixture("family.sh");
    const pids = familyIn(await r.shows(id, /family.*\n/));
    r.supervisor.signal(id, "SIGTERM");
    expect(await r.supervisor.wait(id)).toMatchObject({ state: "exited", exitCode: 143, signal: "SIGTERM" });
    await untilGone(pids);
    r.supervisor.signal(id, "SIGKILL");
  });

  test("by stop takes a second when TERM is ignored, and is answered when all are gone", async () => {
    await using r = rig();
    const { id } = r.fixture("stubborn.sh");
    const pids = familyIn(await r.shows(id, /family.*\n/));
    const from = performance.now();
    const stops = [r.supervisor.stop(id), r.supervisor.stop(id)];
    expect(r.supervisor.describe(id).state).toBe("stopping");
    expect(await Promise.all(stops)).toMatchObject([{ state: "exited", exitCode: 137, signal: "SIGKILL" }, { state: "exited" }]);
    expect(performance.now() - from).toBeGreaterThan(900);
    expect(pids.map(isAlive)).toEqual([false, false]);
    expect((await r.supervisor.stop(id)).state).toBe("exited");
  });

  test("by its own timeout is 124", async () => {
    await using r = rig();
    const { id } = r.sh("sleep 300", { timeoutMs: 50 });
    const { signal: _, ...ended } = await r.supervisor.wait(id);
    expect(ended).toMatchObject({ state: "timed_out", exitCode: 124 });
  });

  test("is waited for no longer than told", async () => {
    await using r = rig();
    const { id } = r.sh("sleep 300");
    await expect(r.supervisor.wait(id, 20)).rejects.toMatchObject({ code: "busy", message: `timed out waiting for process ${id}` });
    expect(r.supervisor.describe(id).state).toBe("running");
  });

  test("of all stops what ended ones have left behind too, answers waits, and forgets", async () => {
    await using r = rig();
    const ended = r.sh("sleep 300 & echo family $!");
    await r.supervisor.wait(ended.id);
    const running = r.fixture("family.sh");
    const pids = [...familyIn(r.text(ended.id)), ...familyIn(await r.shows(running.id, /family.*\n/))];
    const waiting = r.supervisor.wait(running.id);
    await r.supervisor.stopAll(1000);
    expect(await waiting).toMatchObject({ state: "exited", signal: "SIGTERM" });
    expect([pids.map(isAlive), r.supervisor.list(), r.events.at(-1)?.type]).toEqual([[false, false, false], [], "process_exited"]);
  });
});

describe("limits", () => {
  test("sixteen run and no more", async () => {
    await using r = rig();
    const ids = Array.from({ length: 16 }, () => r.sh("exec sleep 300").id);
    expect(refusal(() => r.sh("true"))).toEqual({ code: "busy", message: "process limit reached (maximum 16)" });
    expect(r.supervisor.list().map(({ id }) => id)).toEqual(ids);
    r.supervisor.signal(ids[3]!, "SIGKILL");
    await r.supervisor.wait(ids[3]!);
    r.sh("exec sleep 300");
  });

  test("the newest sixteen of the ended are kept", async () => {
    await using r = rig();
    const ids: string[] = [];
    for (let i = 0; i < 18; i += 1) {
      ids.push(r.sh("exit 0").id);
      await r.supervisor.wait(ids[i]!);
    }
    expect(r.supervisor.list().map(({ id }) => id)).toEqual(ids.slice(-16));
  });
});

test("a flood keeps memory flat and the event loop free", async () => {
  await using r = rig();
  const { supervisor } = r;
  const before = keptBytes();
  let longestMs = 0;
  let last = performance.now();
  const ticks = setInterval(() => {
    longestMs = Math.max(longestMs, performance.now() - last);
    last = performance.now();
    r.events.length = 0;
  }, 5);
  const { id } = r.sh("yes 0123456 | head -c 200000000");
  expect(await supervisor.wait(id)).toMatchObject({ exitCode: 0, outputCursor: 200_000_000 });
  clearInterval(ticks);
  expect(keptBytes() - before).toBeLessThan(10e6);
  // Far from what a loop that is never free would show, with room for a busy machine.
  expect(longestMs).toBeLessThan(500);
});
