import { afterAll, afterEach, expect, test } from "bun:test";
import { Children } from "../../src/process/children.ts";
import { Supervisor } from "../../src/process/supervisor.ts";
import { process as processOf } from "../../src/tools/process.ts";
import { call } from "./calling.ts";

const children = new Children({ env: process.env, hiddenNames: new Set() });
const supervisor = new Supervisor({ children, emit: () => {} });
const tool = processOf(supervisor, {});
afterEach(() => supervisor.stopAll(100));
afterAll(() => children.stopAll(100));

const using = (args: Record<string, unknown>, signal?: AbortSignal) => call(tool, args, { cwd: "/", ...(signal && { signal }) });
const cursorOf = ({ details }: { details?: unknown }) => (details as { cursor: number }).cursor;

test("a program is started, talked to and stopped", async () => {
  const started = await using({ action: "start", command: "echo ready; while read line; do echo \"got $line\"; done", label: "echo", until: "^ready$" });
  expect(started.text).toMatch(/^Process [0-9a-f-]{36} "echo": running, pid \d+, echo ready; .*\n\nready\n\n\[Go on with cursor=6\.\]$/);
  const wrote = await using({ action: "write", id: "echo", text: "hello\n", until: "got" });
  expect(wrote.text).toContain("\n\ngot hello\n\n[Go on with cursor=16.]");
  expect((await using({ action: "logs", id: "echo" })).text).toContain("\n\nready\ngot hello\n\n");
  expect((await using({ action: "logs", id: "echo", cursor: cursorOf(started) })).text).toContain("\n\ngot hello\n\n");
  expect((await using({ action: "list" })).text).toContain('"echo": running');
  const stopped = await using({ action: "stop", id: "echo" });
  expect(stopped.text).toMatch(/"echo": exited, SIGTERM, echo ready; .*\n\n\(no output\)$/);
});

test("the end of its input ends a program, and its exit code is told", async () => {
  await using({ action: "start", command: "cat; exit 3", label: "cat", wait: 0 });
  const closed = await using({ action: "write", id: "cat", text: "last words", closeInput: true, until: "never comes" });
  expect(closed.text).toMatch(/"cat": exited, exit code 3, cat; exit 3\n\nlast words\n\n\[No line that matches never comes came\.\]$/);
});

test("a crash at the start is told at once", async () => {
  const begin = performance.now();
  const { text } = await using({ action: "start", command: "echo broken >&2; exit 7", until: "listening", wait: 30 });
  expect(text).toContain(": exited, exit code 7, echo broken >&2; exit 7\n\nbroken\n\n[No line that matches listening came.]");
  expect(performance.now() - begin).toBeLessThan(5_000);
});

test("waiting ends with its time, and with an abort", async () => {
  await using({ action: "start", command: "sleep 60", label: "quiet", wait: 0 });
  expect((await using({ action: "logs", id: "quiet", until: "x", wait: 0.05 })).text).toContain("[No line that matches x came in 0.05 s. Go on with cursor=0.]");
  const abort = new AbortController();
  const waiting = using({ action: "logs", id: "quiet", wait: 60 }, abort.signal);
  abort.abort(new Error("stopped"));
  expect(waiting).rejects.toThrow("stopped");
  await waiting.catch(() => undefined);
});

test("a line that comes in pieces, without its end, is found", async () => {
  const { text } = await using({ action: "start", command: "printf 'Pass'; sleep 0.1; printf 'word: '; sleep 60", until: "^Password:" });
  expect(text).toContain("\n\nPassword: \n\n[Go on with cursor=10.]");
});

test("long output is shown by its end, escape sequences taken out", async () => {
  const { text } = await using({ action: "start", command: "seq 5000; printf '\\033[31mred\\033[0m\\n'", until: "red" });
  expect(text).toContain("\n4999\n5000\nred\n\n[Only the end of the output is shown.");
  expect(Buffer.byteLength(text)).toBeLessThan(52_000);
});

test("output in other scripts is held to the same number of bytes", async () => {
  const { text } = await using({ action: "start", command: "for i in $(seq 1500); do echo 漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢; done; echo end", until: "^end$" });
  expect(text).toContain("漢\nend\n\n[Only the end of the output is shown.");
  expect(Buffer.byteLength(text)).toBeLessThan(52_000);
});

test("keys go to a terminal only", async () => {
  await using({ action: "start", command: "cat", label: "plain", wait: 0 });
  expect(await using({ action: "keys", id: "plain", keys: ["ENTER"] })).toMatchObject({ isError: true, text: "process is not attached to a PTY." });
  await using({ action: "start", command: "echo up; cat", label: "tty", tty: true, until: "up" });
  await using({ action: "keys", id: "tty", keys: ["CTRL_D"], wait: 5 });
  await supervisor.wait(supervisor.list().find(({ label }) => label === "tty")!.id, 5_000);
});

test("what is missing or unknown is told with what there is", async () => {
  expect((await using({ action: "start" })).text).toBe("The action start needs command.");
  expect((await using({ action: "logs" })).text).toBe("The action logs needs id.");
  expect((await using({ action: "list" })).text).toBe("No process was started.");
  expect(await using({ action: "logs", id: "nope" })).toMatchObject({ isError: true, text: "There is no process nope. None was started." });
  await using({ action: "start", command: "sleep 60", label: "mine", wait: 0 });
  expect((await using({ action: "stop", id: "nope" })).text).toMatch(/^There is no process nope\. These are known:\nProcess .* "mine": running/);
  expect((await using({ action: "start", command: "true", cwd: "nowhere" })).text).toBe("cwd does not exist.");
});
