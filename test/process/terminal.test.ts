import { describe, expect, test } from "bun:test";
import type { ProcessSpec } from "../../src/process/process-spec.ts";
import { Supervisor } from "../../src/process/supervisor.ts";
import { isAlive } from "../support/alive.ts";
import { until } from "../support/until.ts";
import { familyIn, makeChildren, untilGone } from "./rig.ts";

function rig(argv: string[], more: Partial<ProcessSpec> = {}) {
  const children = makeChildren();
  const supervisor = new Supervisor({ children, emit: () => undefined });
  const { id } = supervisor.spawn({ argv, cwd: "/", tty: true, ...more });
  const text = () => supervisor.logs(id).chunks.map((chunk) => Buffer.from(chunk.dataBase64, "base64").toString()).join("");
  return {
    supervisor,
    id,
    text,
    write: (words: string, closeStdin = false) => supervisor.write(id, Buffer.from(words), { closeStdin }),
    shows: (pattern: RegExp) => until(() => (pattern.test(text()) ? text() : ""), () => `${pattern} in ${JSON.stringify(text())}`),
    [Symbol.asyncDispose]: () => children.close(0),
  };
}

const sh = (script: string, more: Partial<ProcessSpec> = {}) => rig(["/bin/sh", "-c", script], more);

describe.skipIf(process.platform === "win32")("a process on a terminal", () => {
  test("has it for its controlling terminal, with a size that can be changed", async () => {
    await using r = sh("tty; stty size; exec 3<>/dev/tty && echo controlling; read x; stty size; echo got-$x", { terminalSize: { cols: 100, rows: 30 } });
    await r.shows(/controlling/);
    expect(r.text()).toMatch(/^\/dev\/\S+\r\n30 100\r\n/);
    r.supervisor.resize(r.id, { cols: 70, rows: 20 });
    r.write("word");
    r.supervisor.keys(r.id, ["ENTER"]);
    expect(await r.supervisor.wait(r.id)).toMatchObject({ state: "exited", exitCode: 0, tty: true });
    expect(r.text()).toMatch(/\r\n20 70\r\ngot-word\r\n$/);
  });

  test("has 80 by 24 and a TERM when nothing else is said", async () => {
    await using r = sh("stty size; echo $TERM", { env: { TERM: null, COLUMNS: "999" } });
    await r.supervisor.wait(r.id);
    expect(r.text()).toBe("24 80\r\nxterm-256color\r\n");
  });

  test("is interrupted by Ctrl-C", async () => {
    await using r = sh("echo ready; exec sleep 300");
    await r.shows(/ready/);
    r.supervisor.keys(r.id, ["CTRL_C"]);
    expect(await r.supervisor.wait(r.id)).toMatchObject({ state: "exited", exitCode: 130, signal: "SIGINT" });
  });

  test("reads the end of input by Ctrl-D", async () => {
    await using r = rig(["cat"]);
    r.write("line\r");
    await r.shows(/line\r\nline\r\n/);
    r.supervisor.keys(r.id, ["CTRL_D"]);
    expect(await r.supervisor.wait(r.id)).toMatchObject({ state: "exited", exitCode: 0 });
  });

  test("reads it by closeStdin too, in the middle of a line", async () => {
    await using r = rig(["cat"]);
    await until(() => r.supervisor.describe(r.id).state === "running", "the start");
    r.write("half a line", true);
    expect(await r.supervisor.wait(r.id)).toMatchObject({ state: "exited", exitCode: 0 });
    expect(r.text()).toBe("half a linehalf a line");
  });

  test("that asks for a password gets it without an echo", async () => {
    await using r = sh("stty -echo; printf 'Password: '; read p; stty echo; echo; echo got ${#p}");
    await r.shows(/Password: /);
    r.write("secret\r");
    await r.supervisor.wait(r.id);
    expect(r.text()).toBe("Password: \r\ngot 6\r\n");
  });

  test("gets arrows in the form that it has asked for", async () => {
    await using r = sh("stty raw -echo; printf '\\033[?1hready'; head -c 3 | od -An -c");
    await r.shows(/ready/);
    r.supervisor.keys(r.id, ["UP"]);
    await r.supervisor.wait(r.id);
    expect(r.text()).toMatch(/033\s+O\s+A/);
  });

  test("takes its whole group with it when it is stopped", async () => {
    await using r = sh("sleep 300 & echo family $$ $!; wait");
    const pids = familyIn(await r.shows(/family [\d ]+\r\n/));
    expect(await r.supervisor.stop(r.id)).toMatchObject({ state: "exited" });
    expect(pids.map(isAlive)).toEqual([false, false]);
  });

  test("hangs up on what it leaves behind", async () => {
    await using r = sh("sleep 300 & echo family $!");
    expect(await r.supervisor.wait(r.id)).toMatchObject({ state: "exited", exitCode: 0 });
    await r.supervisor.stop(r.id);
    await untilGone(familyIn(r.text()));
  });

  test("that never reads is busy after 1 MiB and can be stopped", async () => {
    await using r = sh("stty raw -echo; echo ready; exec sleep 300");
    await r.shows(/ready/);
    r.write("x".repeat(900_000));
    expect(() => r.write("x".repeat(200_000))).toThrow(/1 MiB/);
    await r.supervisor.stop(r.id);
  });

  test("may write a lot, and all of it comes before the end", async () => {
    await using r = sh("seq 1 30000");
    await r.supervisor.wait(r.id);
    expect(r.text()).toEndWith("29999\r\n30000\r\n");
    expect(r.supervisor.describe(r.id).outputCursor).toBe(Array.from({ length: 30_000 }, (_, i) => `${i + 1}\r\n`).join("").length);
  });

  test.skipIf(!Bun.which("python3"))("may be an interpreter to talk to", async () => {
    await using r = rig(["python3", "-i", "-q"]);
    await r.shows(/>>> /);
    r.write("6 * 7\r");
    await r.shows(/42/);
    r.supervisor.keys(r.id, ["CTRL_D"]);
    expect(await r.supervisor.wait(r.id)).toMatchObject({ exitCode: 0 });
  });
});
