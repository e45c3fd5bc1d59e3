import { describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { MAX_BYTES } from "../../src/process/output.ts";
import { removeOutputFiles } from "../../src/process/output-files.ts";
import { isAlive } from "../support/alive.ts";
import { familyIn, fixture, makeChildren, sh } from "./rig.ts";

const PLAIN = { truncated: false, isLineCut: false, cancelled: false, timedOut: false, heldByBackground: false, shownFromLine: 1 };
const isLinuxWithSetsid = process.platform === "linux" && Bun.which("setsid") !== null;

function temporaryFolder(): Disposable & { path: string } {
  const folder = mkdtempSync(path.join(os.tmpdir(), "rpi-shell-"));
  return { path: folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

describe("a command", () => {
  test("gives both streams in order and its exit code", async () => {
    await using children = makeChildren();
    const { deltas, ...result } = await sh(children, "echo out; echo err >&2; echo more; exit 3");
    expect(result).toEqual({ ...PLAIN, output: "out\nerr\nmore\n", exitCode: 3, totalLines: 3, totalBytes: 13, shownLines: 3 });
    expect(deltas.join("")).toBe("out\nerr\nmore\n");
  });

  test("may be longer than an argument can be, and leaves nothing of it behind", async () => {
    await using children = makeChildren();
    const scripts = () => readdirSync(os.tmpdir()).filter((name) => name.startsWith("rpi-command-"));
    const before = scripts();
    const { output, exitCode } = await sh(children, `cat <<'E' | wc -c\n${"x".repeat(300_000)}\nE\nexit 3`);
    expect([output.trim(), exitCode]).toEqual(["300001", 3]);
    expect(scripts()).toEqual(before);
  });

  test("without output is nothing with exit code 0", async () => {
    await using children = makeChildren();
    expect(await sh(children, "true")).toEqual({ ...PLAIN, output: "", exitCode: 0, totalLines: 0, totalBytes: 0, shownLines: 0, deltas: [] });
  });

  test("that a signal ends has 128 and more for its exit code", async () => {
    await using children = makeChildren();
    expect([(await sh(children, "kill -9 $$")).exitCode, (await sh(children, "kill -TERM $$")).exitCode]).toEqual([137, 143]);
  });

  test("cannot read and has no terminal", async () => {
    await using children = makeChildren();
    expect((await sh(children, "cat; read x; echo [$x]")).output).toBe("[]\n");
    expect((await sh(children, "cat <<'E'\nhere\nE\ncat")).output).toBe("here\n");
    expect((await sh(children, "(exec < /dev/tty) 2>/dev/null || echo none")).output).toBe("none\n");
  });

  test("keeps a character whole that it writes in two halves", async () => {
    await using children = makeChildren();
    expect((await sh(children, "printf '\\303'; sleep 0.05; printf '\\251\\n'")).output).toBe("é\n");
  });

  test("is told piece by piece while it runs, and the pieces are the whole", async () => {
    await using children = makeChildren();
    using folder = temporaryFolder();
    const { promise: early, resolve } = Promise.withResolvers<string>();
    const deltas: string[] = [];
    const run = sh(children, "mkfifo go; echo early; cat go; echo late", {
      cwd: folder.path,
      onText(delta) {
        deltas.push(delta);
        resolve(delta);
      },
    });
    expect(await early).toBe("early\n");
    await writeFile(path.join(folder.path, "go"), "now\n");
    expect((await run).output).toBe("early\nnow\nlate\n");
    expect(deltas.join("")).toBe("early\nnow\nlate\n");
  });

  test("that floods is read in bounded memory, its end kept, all of it in a private file", async () => {
    await using children = makeChildren();
    const { output, fullOutputPath, deltas, ...rest } = await sh(children, "yes 0123456789 | head -c 20000009");
    expect(rest).toEqual({ ...PLAIN, truncated: true, exitCode: 0, totalLines: 1_818_183, totalBytes: 20_000_009, shownLines: 2000, shownFromLine: 1_816_184 });
    expect(output).toBe(`${"0123456789\n".repeat(1999)}0123456`);
    expect(deltas.reduce((sum, delta) => sum + delta.length, 0)).toBe(20_000_009);
    expect([statSync(fullOutputPath!).size, statSync(fullOutputPath!).mode & 0o777]).toEqual([20_000_009, 0o600]);
    removeOutputFiles();
  });

  test("of one endless line shows the end of it", async () => {
    await using children = makeChildren();
    const result = await sh(children, "head -c 500000 /dev/zero | tr '\\0' x");
    expect([result.output, result.isLineCut, result.totalLines]).toEqual(["x".repeat(MAX_BYTES), true, 1]);
    expect(readFileSync(result.fullOutputPath!).length).toBe(500_000);
    removeOutputFiles();
  });

  test("runs in the folder and the shell that it is given", async () => {
    await using children = makeChildren();
    expect((await sh(children, "pwd; echo $0", { cwd: "/usr", shellPath: "/bin/sh" })).output).toBe("/usr\n/bin/sh\n");
    await expect(sh(children, "true", { shellPath: "/no/such/shell" })).rejects.toThrow("/no/such/shell");
    await expect(sh(children, "true", { cwd: "/no/such/folder" })).rejects.toThrow("cwd does not exist");
  });
});

describe("a background child does not hold it", () => {
  const cases = ["sleep 300 & echo done", "(while :; do echo done; sleep 1; done) & echo done", "nohup sleep 300 > /dev/null 2>&1 & echo done", ...(isLinuxWithSetsid ? ["setsid sleep 300 >/dev/null & echo done"] : [])];
  for (const command of cases) {
    test(command, async () => {
      await using children = makeChildren();
      const from = performance.now();
      const result = await sh(children, command);
      expect(performance.now() - from).toBeLessThan(2000);
      expect(result.output).toStartWith("done\n");
      if (!command.startsWith("nohup")) expect(result.heldByBackground).toBe(true);
    });
  }

  test("not even when it writes without end", async () => {
    await using children = makeChildren();
    const result = await sh(children, "yes & echo family $! >&2");
    expect(result.heldByBackground).toBe(true);
    removeOutputFiles();
  });

  test("and it lives on though it writes", async () => {
    await using children = makeChildren();
    const { output } = await sh(children, "(for i in 1 2 3 4 5 6 7 8; do head -c 100000 /dev/zero; done; exec sleep 300) & echo family $!");
    const [pid] = familyIn(output);
    expect(isAlive(pid!)).toBe(true);
    removeOutputFiles();
  });
});

describe("an end from outside", () => {
  test("by abort cancels and ends the whole group", async () => {
    await using children = makeChildren();
    const abort = new AbortController();
    const result = await sh(children, `. ${fixture("family.sh")}`, { signal: abort.signal, onText: () => abort.abort() });
    expect([result.cancelled, result.timedOut, result.exitCode]).toEqual([true, false, null]);
    const pids = familyIn(result.output);
    expect(pids.map(isAlive)).toEqual([false, false]);
  });

  test("before the start starts nothing", async () => {
    await using children = makeChildren();
    const result = await sh(children, "echo never", { signal: AbortSignal.abort() });
    expect([result.cancelled, result.output, result.exitCode, children.alive]).toEqual([true, "", null, 0]);
  });

  test("by the timeout reaches what ignores TERM", async () => {
    await using children = makeChildren();
    const result = await sh(children, `. ${fixture("stubborn.sh")}`, { timeoutMs: 200 });
    expect([result.cancelled, result.timedOut, result.exitCode]).toEqual([false, true, null]);
    expect(familyIn(result.output).map(isAlive)).toEqual([false, false]);
  });

  test.skipIf(!isLinuxWithSetsid)("reaches a grandchild with a session of its own", async () => {
    await using children = makeChildren();
    const abort = new AbortController();
    const result = await sh(children, "setsid sleep 300 & echo family $!; sleep 300", { signal: abort.signal, onText: () => abort.abort() });
    expect(familyIn(result.output).map(isAlive)).toEqual([false]);
  });

  test("that comes after the exit changes nothing", async () => {
    await using children = makeChildren();
    const abort = new AbortController();
    const result = await sh(children, "sleep 300 & echo family $!", { signal: abort.signal });
    abort.abort();
    expect([result.cancelled, isAlive(familyIn(result.output)[0]!)]).toEqual([false, true]);
  });
});

describe("while nobody takes the text", () => {
  test("the command waits, and goes on afterwards", async () => {
    await using children = makeChildren();
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let held = 0;
    const run = sh(children, "head -c 3000000 /dev/zero | tr '\\0' x; exit 7", {
      ready: () => {
        const gate = gates[held++];
        // Each opens the one before: the command cannot get ahead of its reader.
        queueMicrotask(() => gate?.resolve());
        return gate?.promise;
      },
    });
    const result = await run;
    expect([result.totalBytes, result.exitCode, held > 2]).toEqual([3_000_000, 7, true]);
    removeOutputFiles();
  });

  test("an abort still ends it, and little was read", async () => {
    await using children = makeChildren();
    const abort = new AbortController();
    const result = await sh(children, "yes 0123456789", {
      signal: abort.signal,
      ready: () => {
        setTimeout(() => abort.abort(), 20);
        return new Promise(() => undefined);
      },
    });
    expect(result.cancelled).toBe(true);
    expect(result.totalBytes).toBeLessThan(1_000_000);
    removeOutputFiles();
  });
});

test("what the taker of the text throws is not swallowed", async () => {
  await using children = makeChildren();
  const failing = sh(children, "echo x", {
    onText() {
      throw new Error("no room");
    },
  });
  await expect(failing).rejects.toThrow("no room");
});

test("several run at once and each has its own text", async () => {
  await using children = makeChildren();
  const results = await Promise.all(Array.from({ length: 20 }, (_, i) => sh(children, `echo ${i}; echo ${i}`)));
  expect(results.map(({ output }) => output)).toEqual(Array.from({ length: 20 }, (_, i) => `${i}\n${i}\n`));
});
