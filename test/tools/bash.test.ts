import { afterAll, describe, expect, test } from "bun:test";
import { removeOutputFiles } from "../../src/process/output-files.ts";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Children } from "../../src/process/children.ts";
import { bash as bashOf } from "../../src/tools/bash.ts";
import { call, inFolder } from "./calling.ts";

afterAll(removeOutputFiles);

const children = new Children({ env: process.env, hiddenNames: new Set() });
const bash = bashOf({ children });
afterAll(() => children.stopAll(100));

const running = (command: string, timeout: number | null = null) => inFolder((cwd) => call(bash, { command, timeout }, { cwd }));

describe("a command", () => {
  test("gives what it prints, both streams in order, in the working directory", async () => {
    await inFolder(async (cwd) => {
      const { text, isError, details } = await call(bash, { command: "echo out; echo err >&2; pwd" }, { cwd });
      expect([text, isError, details]).toEqual([`out\nerr\n${cwd}`, undefined, { exitCode: 0 }]);
    });
  });

  test("that prints nothing says so", async () => {
    expect((await running("true")).text).toBe("(no output)");
  });

  test("that fails is an error with its exit code", async () => {
    expect(await running("echo out; exit 5")).toMatchObject({ isError: true, text: "out\n\n[Command exited with code 5]", details: { exitCode: 5 } });
    expect((await running("false")).text).toBe("[Command exited with code 1]");
    expect((await running("kill -9 $$")).text).toBe("[Command exited with code 137 (ended by SIGKILL)]");
  });

  test("tells the end of its output while it runs", async () => {
    await inFolder(async (cwd) => {
      const goOn = () => writeFileSync(join(cwd, "go"), "");
      const { updates, text } = await call(bash, { command: "echo one; until [ -e go ]; do sleep 0.01; done; echo two" }, { cwd, onUpdate: goOn });
      expect(updates).toEqual([{ content: [{ type: "text", text: "one\n" }] }, { content: [{ type: "text", text: "one\ntwo\n" }] }]);
      expect(text).toBe("one\ntwo");
    });
  });

  test("has no terminal and no input", async () => {
    expect((await running("cat; read x; echo [$x]")).text).toBe("[]");
  });

  test("is stopped with all that it started when its time is over", async () => {
    const begin = performance.now();
    const { text, isError, details } = await running("echo begun; sleep 61 & sleep 62", 0.3);
    expect(text).toBe("begun\n\n[Command timed out: it was stopped, with all that it started, after 0.3 s. Give a longer timeout, or run it in the background with its output in a file.]");
    expect([isError, details]).toEqual([true, undefined]);
    expect(performance.now() - begin).toBeLessThan(5_000);
  });

  test("is stopped by an abort, and does not begin after one", async () => {
    const abort = new AbortController();
    const stopped = await call(bash, { command: "echo begun; sleep 60" }, { cwd: "/", signal: abort.signal, onUpdate: () => abort.abort() });
    expect(stopped).toMatchObject({ isError: true, text: "begun\n\n[Command aborted]" });
    expect(await call(bash, { command: "echo never" }, { cwd: "/", signal: AbortSignal.abort() })).toMatchObject({ isError: true, text: "[Command aborted]", updates: [] });
  });

  test("returns though something in the background still holds its output, and says so", async () => {
    const begin = performance.now();
    const { text, isError } = await running("sleep 63 & echo done");
    expect(text).toBe("done\n\n[A process that the command left in the background still runs; what it prints from now on is not shown. Send its output to a file if you need it.]");
    expect(isError).toBeUndefined();
    expect((await running("sleep 63 >/dev/null 2>&1 & echo done")).text).toBe("done");
    expect(performance.now() - begin).toBeLessThan(4_000);
  });

  test("that cannot be started is told in words", async () => {
    const { text, isError } = await call(bash, { command: "true" }, { cwd: "/nowhere/at/all" });
    expect(isError).toBe(true);
    expect(text).toStartWith("The command could not be started: ");
    expect(() => bash.parameters().parse({ command: "true", timeout: 0 })).toThrow();
    expect(() => bash.parameters().parse({ command: "true", timeout: 1e9 })).toThrow();
  });
});

describe("long output", () => {
  test("is cut to its last 2000 lines; the whole is in a private file", async () => {
    const { text, details } = await running("seq 3000");
    const path = (details as { fullOutputPath: string }).fullOutputPath;
    expect(text).toBe(`${Array.from({ length: 2000 }, (_, index) => 1001 + index).join("\n")}\n\n[Showing lines 1001-3000 of 3000 (the last 2000 lines). Full output, 13.6 KB: ${path}]`);
    expect(details).toEqual({ exitCode: 0, truncation: { truncated: true, truncatedBy: "lines", firstLine: 1001, outputLines: 2000, outputBytes: 10_000, totalLines: 3000, totalBytes: 13_893 }, fullOutputPath: path });
    expect([statSync(path).mode & 0o777, readFileSync(path, "utf8")]).toEqual([0o600, `${Array.from({ length: 3000 }, (_, index) => index + 1).join("\n")}\n`]);
  });

  test("is cut to its last 50 KB, between lines", async () => {
    const { text } = await running(`for i in $(seq 200); do printf '%01000d\\n' $i; done`);
    expect(text).toContain("\n\n[Showing lines 150-200 of 200 (the last 50 KB). Full output, 195.5 KB: ");
  });

  test("of one line shows the end of that line", async () => {
    const { text } = await running("head -c 500000 /dev/zero | tr '\\0' x");
    expect(text).toContain("\n\n[Showing the last 50 KB of line 1. Full output, 488.3 KB: ");
    expect(text).toStartWith("x".repeat(50 * 1024));
  });

  test("of noise is text without control characters", async () => {
    const { text } = await running("head -c 200000 /dev/urandom");
    expect(text).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
    expect(Buffer.byteLength(text)).toBeLessThan(52_000);
  });

  test("is not copied into progress", async () => {
    const { updates } = await running("seq 20000");
    for (const { content } of updates) expect((content[0] as { text: string }).text.length).toBeLessThanOrEqual(2_000);
  });
});

test("a file with an odd name stays one", async () => {
  await inFolder(async (cwd) => {
    await call(bash, { command: "printf x > 'a b'" }, { cwd });
    expect(readFileSync(join(cwd, "a b"), "utf8")).toBe("x");
  });
});
