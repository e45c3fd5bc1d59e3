import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative } from "node:path";
import { read } from "../../src/tools/read.ts";
import { call, inFolder } from "./calling.ts";

const numbered = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}`).join("\n");

/** Writes one file and reads it. */
async function reading(content: string | Uint8Array, args: Record<string, unknown> = {}) {
  return inFolder(async (cwd) => {
    writeFileSync(join(cwd, "file.txt"), content);
    return call(read, { path: "file.txt", ...args }, { cwd });
  });
}

describe("text", () => {
  test("a short file comes as it is, without its byte order mark", async () => {
    expect((await reading("one é漢\r\ntwo\n")).text).toBe("one é漢\r\ntwo\n");
    expect((await reading("\uFEFFone\n")).text).toBe("one\n");
    expect((await reading("no end")).text).toBe("no end");
  });

  test("a part is shown with its range and the way to go on", async () => {
    expect(await reading(numbered(1, 50), { offset: 10, limit: 3 })).toEqual({
      content: [{ type: "text", text: "line 10\nline 11\nline 12\n\n[Showing lines 10-12 of 50. Go on with offset=13.]" }],
      text: "line 10\nline 11\nline 12\n\n[Showing lines 10-12 of 50. Go on with offset=13.]",
      updates: [],
    });
    expect((await reading(numbered(1, 5), { offset: 4 })).text).toBe("line 4\nline 5");
    expect((await reading(`${numbered(1, 5)}\n`, { offset: 5, limit: 1 })).text).toBe("line 5\n");
    expect((await reading(numbered(1, 5), { offset: "2", limit: "1" })).text).toStartWith("line 2\n\n[Showing lines 2-2 of 5.");
    expect((await reading(numbered(1, 5), { offset: null, limit: null })).text).toBe(numbered(1, 5));
  });

  test("more than 2000 lines are cut at the head", async () => {
    const { text, details, isError } = await reading(`${numbered(1, 3000)}\n`);
    expect(text).toBe(`${numbered(1, 2000)}\n\n[Showing lines 1-2000 of 3000, at most 2000 at once. Go on with offset=2001.]`);
    expect(isError).toBeUndefined();
    expect(details).toEqual({ truncation: { truncated: true, truncatedBy: "lines", firstLine: 1, outputLines: 2000, outputBytes: 20893 - 2000, totalLines: 3000, totalBytes: 28893 } });
  });

  test("more than 50 KB are cut between lines", async () => {
    const line = "é".repeat(500);
    const { text } = await reading(`${line}\n`.repeat(100));
    expect(text).toBe(`${`${line}\n`.repeat(51)}\n[Showing lines 1-51 of 100, at most 50 KB at once. Go on with offset=52.]`);
  });

  test("a file of exactly as many lines as may be shown is whole", async () => {
    expect((await reading(`${numbered(1, 2000)}\n`)).text).toBe(`${numbered(1, 2000)}\n`);
    expect((await reading(numbered(1, 5), { limit: 5 })).text).toBe(numbered(1, 5));
  });

  test("a line that is too long is told, with its beginning and the next line", async () => {
    const { text, isError } = await reading(`first\n${"漢".repeat(40_000)}\nlast\n`, { offset: 2 });
    expect(text).toStartWith(`${"漢".repeat(666)}\n\n[Line 2 of 3 is 117.2 KB long, more than one result may hold (50 KB); this is its beginning.`);
    expect(text).toContain("sed -n '2p' \"file.txt\"");
    expect(text).toEndWith("The next line is offset=3.]");
    expect(isError).toBeUndefined();
    expect((await reading(`first\n${"x".repeat(120_000)}\nlast\n`)).text).toBe("first\n\n[Showing lines 1-1 of 3, at most 50 KB at once. Go on with offset=2.]");
  });

  test("an empty file and an offset behind the end are told", async () => {
    expect((await reading("")).text).toBe("[The file is empty.]");
    expect(await reading("one\ntwo\n", { offset: 3 })).toMatchObject({ isError: true, text: "Line 3 is behind the end: file.txt has 2 lines." });
  });

  test("of a file of 8 GB only the range is read", async () => {
    await inFolder(async (cwd) => {
      const path = join(cwd, "huge.log");
      writeFileSync(path, `${numbered(1, 100)}\n${"x".repeat(100_000)}`);
      truncateSync(path, 8 * 1024 ** 3);
      const before = process.memoryUsage().rss;
      expect((await call(read, { path, offset: 99, limit: 2 }, { cwd })).text).toBe("line 99\nline 100\n\n[Showing lines 99-100 (the file goes on for more than 16 MB). Go on with offset=101.]");
      expect((await call(read, { path, offset: 101 }, { cwd })).text).toContain("Line 101 (the file goes on for more than 16 MB) is more than 16");
      expect(process.memoryUsage().rss - before).toBeLessThan(150e6);
    });
  });

  test("reading far into a huge file ends with an abort", async () => {
    await inFolder(async (cwd) => {
      const path = join(cwd, "huge.log");
      writeFileSync(path, "");
      truncateSync(path, 64 * 1024 ** 3);
      const abort = new AbortController();
      const reading = call(read, { path, offset: 2 }, { cwd, signal: abort.signal });
      abort.abort(new Error("stopped"));
      expect(reading).rejects.toThrow("stopped");
      await reading.catch(() => undefined);
    });
  });
});

describe("what is not text", () => {
  test("binary files and other encodings are told, not dumped", async () => {
    expect(await reading(Buffer.from([1, 2, 0, 3]))).toMatchObject({ isError: true, text: "file.txt is not text: it holds NUL bytes (4 bytes). Look into it with bash, e.g. file, xxd | head or strings." });
    expect((await reading(Buffer.from("\xff\xfeh\0i\0", "latin1"))).text).toContain("UTF-16 text. Make it readable with bash: iconv");
    expect((await reading(Buffer.from(Array.from({ length: 200 }, (_, index) => 128 + (index % 128))))).text).toContain("it is not valid UTF-8");
  });

  test("a few odd bytes in a text are shown as such", async () => {
    expect((await reading(Buffer.from("caf\xe9 au lait, s'il vous pla\xeet\n", "latin1"))).text).toBe("caf\uFFFD au lait, s'il vous pla\uFFFDt\n\n[2 bytes or more are not valid UTF-8 and shown as \uFFFD; edit cannot change this file.]");
  });

  test("folders, pipes and devices are refused at once", async () => {
    await inFolder(async (cwd) => {
      mkdirSync(join(cwd, "sub"));
      expect(await call(read, { path: "sub" }, { cwd })).toMatchObject({ isError: true, text: "sub is a folder. Use ls to see what is in it." });
      if (process.platform === "win32") return;
      Bun.spawnSync(["mkfifo", join(cwd, "pipe")]);
      expect((await call(read, { path: "pipe" }, { cwd })).text).toBe("pipe is a pipe, not a file; reading it could wait for ever.");
      expect((await call(read, { path: "/dev/zero" }, { cwd })).text).toBe("/dev/zero is a device, not a file; reading it could wait for ever.");
    });
  });

  test.if(process.platform === "linux")("files of the kernel, which claim to be empty, are read", async () => {
    expect((await call(read, { path: "/proc/self/status", limit: 1 }, { cwd: "/" })).text).toStartWith("Name:\t");
  });
});

describe("paths", () => {
  test("a missing file is an error that names what is near", async () => {
    await inFolder(async (cwd) => {
      mkdirSync(join(cwd, "src"));
      writeFileSync(join(cwd, "src/settings.ts"), "");
      expect(await call(read, { path: "src/setings.ts" }, { cwd })).toMatchObject({ isError: true, text: "There is nothing at src/setings.ts. Did you mean src/settings.ts?" });
      expect((await call(read, { path: "scr/settings.ts" }, { cwd })).text).toBe("There is nothing at scr/settings.ts. The folder scr does not exist either. Did you mean src?");
      expect((await call(read, { path: "src/settings.ts/x" }, { cwd })).text).toBe("There is nothing at src/settings.ts/x: src/settings.ts is a file, not a folder.");
      symlinkSync("gone", join(cwd, "link"));
      expect((await call(read, { path: "link" }, { cwd })).text).toBe("link is a link to gone, where nothing is.");
      expect((await call(read, { path: "src/entirely-other.md" }, { cwd })).text).toBe("There is nothing at src/entirely-other.md. Look with ls or find (in src for a start).");
    });
  });

  test("relative, absolute, ~, @ and file: paths are understood, and links followed", async () => {
    await inFolder(async (cwd) => {
      mkdirSync(join(cwd, "@scope"));
      writeFileSync(join(cwd, "a b.txt"), "plain");
      writeFileSync(join(cwd, "@scope/x.txt"), "scoped");
      symlinkSync("a b.txt", join(cwd, "link"));
      for (const path of ["a b.txt", "./@scope/../a b.txt", join(cwd, "a b.txt"), "@a b.txt", `file://${cwd}/a%20b.txt`, `~/${relative(homedir(), cwd)}/a b.txt`, "link"]) {
        expect((await call(read, { path }, { cwd })).text).toBe("plain");
      }
      expect((await call(read, { path: "@scope/x.txt" }, { cwd })).text).toBe("scoped");
    });
  });

  test("a name that only looks the same is found", async () => {
    await inFolder(async (cwd) => {
      writeFileSync(join(cwd, "Capture d\u2019e\u0301cran 9.41\u202fAM.txt"), "shot");
      expect((await call(read, { path: "Capture d'\u00e9cran 9.41 AM.txt" }, { cwd })).text).toBe("shot");
    });
  });
});
