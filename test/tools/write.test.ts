import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, linkSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { edit } from "../../src/tools/edit.ts";
import { inTurn } from "../../src/tools/file-queue.ts";
import { write } from "../../src/tools/write.ts";
import { call, inFolder } from "./calling.ts";

const isRoot = process.getuid?.() === 0;

describe("write", () => {
  test("makes the file and its folders, then replaces it", async () => {
    await inFolder(async (cwd) => {
      expect(await call(write, { path: "deep/er/new.txt", content: "one\nünï" }, { cwd })).toEqual({
        content: [{ type: "text", text: "Created deep/er/new.txt (2 lines, 9 bytes)." }],
        text: "Created deep/er/new.txt (2 lines, 9 bytes).",
        updates: [],
      });
      expect((await call(write, { path: join(cwd, "deep/er/new.txt"), content: "" }, { cwd })).text).toBe("Replaced deep/er/new.txt (0 lines, 0 bytes).");
      expect(readFileSync(join(cwd, "deep/er/new.txt"), "utf8")).toBe("");
      expect(readdirSync(join(cwd, "deep/er"))).toEqual(["new.txt"]);
    });
  });

  test("keeps the mode, and gives new files the usual one", async () => {
    await inFolder(async (cwd) => {
      const path = join(cwd, "run.sh");
      writeFileSync(path, "old");
      chmodSync(path, 0o751);
      await call(write, { path, content: "new" }, { cwd });
      await call(write, { path: "plain.txt", content: "new" }, { cwd });
      expect([statSync(path).mode & 0o777, statSync(join(cwd, "plain.txt")).mode & 0o777]).toEqual([0o751, 0o666 & ~process.umask()]);
    });
  });

  test("writes the target of a link, even one that is not there yet, and the link stays", async () => {
    await inFolder(async (cwd) => {
      mkdirSync(join(cwd, "real"));
      writeFileSync(join(cwd, "real/file.txt"), "old");
      symlinkSync("real/file.txt", join(cwd, "link"));
      symlinkSync("real/later.txt", join(cwd, "dangling"));
      await call(write, { path: "link", content: "new" }, { cwd });
      await call(write, { path: "dangling", content: "made" }, { cwd });
      expect([readlinkSync(join(cwd, "link")), readFileSync(join(cwd, "real/file.txt"), "utf8")]).toEqual(["real/file.txt", "new"]);
      expect([readlinkSync(join(cwd, "dangling")), readFileSync(join(cwd, "real/later.txt"), "utf8")]).toEqual(["real/later.txt", "made"]);
    });
  });

  test("all names of a file with several see the new content", async () => {
    await inFolder(async (cwd) => {
      writeFileSync(join(cwd, "a"), "a long old text");
      linkSync(join(cwd, "a"), join(cwd, "b"));
      await call(write, { path: "a", content: "new" }, { cwd });
      expect(readFileSync(join(cwd, "b"), "utf8")).toBe("new");
    });
  });

  test("whoever has the old file open goes on reading it whole", async () => {
    await inFolder(async (cwd) => {
      writeFileSync(join(cwd, "a"), "old");
      const { ino } = statSync(join(cwd, "a"));
      await call(write, { path: "a", content: "new" }, { cwd });
      expect(statSync(join(cwd, "a")).ino).not.toBe(ino);
    });
  });

  test("what is in the way is told in words", async () => {
    await inFolder(async (cwd) => {
      mkdirSync(join(cwd, "sub"));
      writeFileSync(join(cwd, "file"), "");
      symlinkSync("loop", join(cwd, "loop"));
      expect(await call(write, { path: "sub", content: "" }, { cwd })).toMatchObject({ isError: true, text: "sub is a folder. Give the path of a file." });
      expect((await call(write, { path: "file/x", content: "" }, { cwd })).text).toStartWith("Cannot make the folder of file/x:");
      expect((await call(write, { path: "loop", content: "" }, { cwd })).text).toContain("symbolic links go round in a circle");
      expect((await call(write, { path: "a\0b", content: "" }, { cwd })).text).toBe("A path cannot hold a NUL character.");
    });
  });

  test.if(!isRoot)("a file that may not be written stays as it is", async () => {
    await inFolder(async (cwd) => {
      writeFileSync(join(cwd, "a"), "old");
      chmodSync(join(cwd, "a"), 0o444);
      expect((await call(write, { path: "a", content: "new" }, { cwd })).text).toBe(`Cannot write ${join(cwd, "a")}: permission denied. Nothing was changed.`);
      expect(readFileSync(join(cwd, "a"), "utf8")).toBe("old");
    });
  });

  test("does not begin after an abort", async () => {
    await inFolder(async (cwd) => {
      expect(call(write, { path: "a", content: "new" }, { cwd, signal: AbortSignal.abort(new Error("stopped")) })).rejects.toThrow("stopped");
      expect(existsSync(join(cwd, "a"))).toBe(false);
    });
  });
});

describe("one file at a time", () => {
  test("parallel edits of one file, by different names, are all made", async () => {
    await inFolder(async (cwd) => {
      const names = Array.from({ length: 40 }, (_, index) => `word${index}.`);
      writeFileSync(join(cwd, "a"), names.join("\n"));
      symlinkSync("a", join(cwd, "b"));
      await Promise.all(names.map((name, index) => call(edit, { path: index % 2 ? "a" : "./b", oldText: name, newText: name.toUpperCase() }, { cwd })));
      expect(readFileSync(join(cwd, "a"), "utf8")).toBe(names.join("\n").toUpperCase());
    });
  });

  test("calls of one message on one file are made in their order, from the first that makes it", async () => {
    await inFolder(async (cwd) => {
      mkdirSync(join(cwd, "sub"));
      symlinkSync("sub", join(cwd, "link"));
      for (let round = 0; round < 20; round++) {
        const results = await Promise.all([
          call(write, { path: `sub/a${round}`, content: "one" }, { cwd }),
          call(edit, { path: `link/a${round}`, oldText: "one", newText: "two" }, { cwd }),
          call(edit, { path: `sub/a${round}`, oldText: "two", newText: "three" }, { cwd }),
        ]);
        expect(results.map(({ isError }) => isError)).toEqual([undefined, undefined, undefined]);
        expect(readFileSync(join(cwd, `sub/a${round}`), "utf8")).toBe("three");
      }
    });
  });

  test("work on one file is done in order, goes on after a failure, and does not hold up other files", async () => {
    await inFolder(async (cwd) => {
      const steps: string[] = [];
      const gate = Promise.withResolvers<void>();
      const first = inTurn(join(cwd, "a"), async () => {
        await gate.promise;
        steps.push("first");
        throw new Error("failed");
      });
      const second = inTurn(join(cwd, "a"), async () => void steps.push("second"));
      await inTurn(join(cwd, "b"), async () => void steps.push("other"));
      gate.resolve();
      expect(first).rejects.toThrow("failed");
      await second;
      expect(steps).toEqual(["other", "first", "second"]);
    });
  });
});
