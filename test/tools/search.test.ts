import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { find } from "../../src/tools/find.ts";
import { grep } from "../../src/tools/grep.ts";
import { ls } from "../../src/tools/ls.ts";
import { call, inFolder } from "./calling.ts";

type Files = Record<string, string | Uint8Array>;

/** A folder with these files. */
function withFiles<T>(files: Files, use: (cwd: string) => Promise<T>): Promise<T> {
  return inFolder(async (cwd) => {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(cwd, path)), { recursive: true });
      writeFileSync(join(cwd, path), content);
    }
    return use(cwd);
  });
}

const grepping = (files: Files, args: Record<string, unknown>) => withFiles(files, (cwd) => call(grep, args, { cwd }));
const finding = (files: Files, args: Record<string, unknown>) => withFiles(files, (cwd) => call(find, args, { cwd }));

describe("grep", () => {
  test("shows matching lines with file and number, a folder's own files first", async () => {
    const result = await grepping({ "sub/b.txt": "no\nanother needle\r\n", "a.txt": "alpha\nneedle here\n", "c.txt": "nothing\n", ".hidden": "needle" }, { pattern: "needle" });
    expect(result).toEqual({ content: [{ type: "text", text: ".hidden:1: needle\na.txt:2: needle here\nsub/b.txt:2: another needle" }], text: ".hidden:1: needle\na.txt:2: needle here\nsub/b.txt:2: another needle", updates: [] });
  });

  test("has case, literal text, globs and a single file", async () => {
    const files = { "a.txt": "Needle (x)\n", "b.md": "needle (x)\n", "src/c.ts": "needle\n", "src/deep/d.ts": "needle\n" };
    expect((await grepping(files, { pattern: "NEEDLE", ignoreCase: true, glob: "*.md" })).text).toBe("b.md:1: needle (x)");
    expect((await grepping(files, { pattern: "(x)", literal: true, path: "a.txt" })).text).toBe("a.txt:1: Needle (x)");
    expect((await grepping(files, { pattern: "needle", glob: "*.ts" })).text).toBe("src/c.ts:1: needle\nsrc/deep/d.ts:1: needle");
    expect((await grepping(files, { pattern: "needle", glob: "./src/*.ts" })).text).toBe("src/c.ts:1: needle");
    expect((await grepping(files, { pattern: "needle", glob: "!*.ts" })).text).toBe("b.md:1: needle (x)");
    expect((await grepping(files, { pattern: "needle", path: "src", glob: "deep/**" })).text).toBe("deep/d.ts:1: needle\n\n[Paths are below src.]");
    expect((await grepping(files, { pattern: "^needle$", ignoreCase: "true", path: "" })).text).toBe("src/c.ts:1: needle\nsrc/deep/d.ts:1: needle");
  });

  test("shows lines around matches, each once", async () => {
    const lines = Array.from({ length: 12 }, (_, index) => (index === 4 || index === 6 ? `hit ${index + 1}` : `line ${index + 1}`));
    expect((await grepping({ "a.txt": lines.join("\n") }, { pattern: "hit", context: 2 })).text.split("\n")).toEqual(["a.txt-3- line 3", "a.txt-4- line 4", "a.txt:5: hit 5", "a.txt-6- line 6", "a.txt:7: hit 7", "a.txt-8- line 8", "a.txt-9- line 9"]);
    expect((await grepping({ "a.txt": "hit\nb\n", "b.txt": "a\nhit" }, { pattern: "hit", context: 1 })).text).toBe("a.txt:1: hit\na.txt-2- b\nb.txt-1- a\nb.txt:2: hit");
  });

  test("stops at its limit and says so, but not when there is no more", async () => {
    const files = { "a.log": "hay\n".repeat(150), "b.log": "hay\n" };
    const { text, details } = await grepping(files, { pattern: "hay", limit: 5 });
    expect(text).toBe(`${[1, 2, 3, 4, 5].map((line) => `a.log:${line}: hay`).join("\n")}\n\n[The first 5 matches only; give a greater limit or a narrower pattern for more.]`);
    expect(details).toEqual({ matchLimitReached: 5 });
    expect((await grepping(files, { pattern: "hay" })).details).toEqual({ matchLimitReached: 100 });
    expect((await grepping(files, { pattern: "hay", limit: 151 })).details).toBeUndefined();
  });

  test("shows a long line around its match", async () => {
    const { text, details } = await grepping({ "min.js": `${"x".repeat(3_000)}needle${"y".repeat(3_000)}\nneedle\n` }, { pattern: "needle" });
    const [long, short, , note] = text.split("\n");
    expect(long).toMatch(/^min\.js:1: …x{200,}needley{200,}…$/);
    expect(long!.length).toBeLessThan(520);
    expect([short, note]).toEqual(["min.js:2: needle", "[Lines longer than 500 characters are cut; read shows them whole.]"]);
    expect(details).toEqual({ linesTruncated: true });
  });

  test("holds at most 50 KB", async () => {
    const { text, details } = await grepping({ "a.txt": `needle ${"z".repeat(400)}\n`.repeat(1_000) }, { pattern: "needle", limit: 1_000 });
    expect(Buffer.byteLength(text)).toBeLessThan(51_400);
    expect(text).toEndWith("[Cut at 50 KB; narrow the search for the rest.]");
    expect(details).toMatchObject({ truncation: { truncated: true, truncatedBy: "bytes" } });
  });

  test("passes over binary files, links, .git and what git ignores; a file named outright is searched", async () => {
    await withFiles({ ".gitignore": "dist/\n*.log\n!keep.log\n", ".git/config": "needle", "dist/a.js": "needle", "a.log": "needle", "keep.log": "needle", "b.bin": "needle\0", "sub/.gitignore": "/c.txt", "sub/c.txt": "needle", "sub/sub/c.txt": "needle" }, async (cwd) => {
      symlinkSync("..", join(cwd, "sub/loop"));
      symlinkSync("keep.log", join(cwd, "link"));
      expect((await call(grep, { pattern: "needle" }, { cwd })).text).toBe("keep.log:1: needle\nsub/sub/c.txt:1: needle");
      expect((await call(grep, { pattern: "needle", path: "a.log" }, { cwd })).text).toBe("a.log:1: needle");
      expect((await call(grep, { pattern: "needle", path: "link" }, { cwd })).text).toBe("link:1: needle");
      expect((await call(grep, { pattern: "needle", path: "sub" }, { cwd })).text).toBe("sub/c.txt:1: needle\n\n[Paths are below sub.]");
    });
  });

  test("nothing found is no failure; a wrong pattern or path is", async () => {
    expect(await grepping({ "a.txt": "x" }, { pattern: "needle", glob: "*.ts" })).toEqual({ content: [{ type: "text", text: "No line matches needle in the files of . that fit *.ts. What git ignores, and binary files, are not searched." }], text: "No line matches needle in the files of . that fit *.ts. What git ignores, and binary files, are not searched.", updates: [] });
    expect((await grepping({ "a.txt": "a\nb" }, { pattern: "a\\nb", path: "a.txt" })).text).toContain("a line break in it never matches");
    expect(await grepping({}, { pattern: "(" })).toMatchObject({ isError: true });
    expect((await grepping({ "a.txt": "" }, { pattern: "x", path: "b.txt" })).text).toBe("There is nothing at b.txt. Did you mean a.txt?");
  });

  test("counts lines over blocks, and sees the beginning of a line that is longer than one", async () => {
    const filler = `${"f".repeat(99)}\n`.repeat(15_000);
    const long = `start needle ${"l".repeat(2_500_000)} needle end`;
    const content = `\uFEFFneedle first\n${filler}needle second\n${long}\nneedle third\n${filler}needle last`;
    for (const pattern of ["needle", "n[e]+dle"]) {
      const { text } = await grepping({ "big.txt": content }, { pattern });
      expect(text.split("\n").map((line) => line.slice(0, 30)).slice(0, 5)).toEqual(["big.txt:1: needle first", "big.txt:15002: needle second", "big.txt:15003: start needle ll", "big.txt:15004: needle third", "big.txt:30005: needle last"]);
    }
    expect((await grepping({ "big.txt": content }, { pattern: "third", context: 1 })).text.split("\n").map((line) => line.slice(0, 30)).slice(0, 3)).toEqual(["big.txt-15003- start needle ll", "big.txt:15004: needle third", `big.txt-15005- ${"f".repeat(15)}`]);
  });
});

describe("find", () => {
  const tree: Files = { "top.md": "", "sub/one.md": "", "sub/deep/two.md": "", "sub/deep/x.ts": "", ".env": "", "README.TXT": "" };

  test("compares names at any depth, or paths when there is a slash", async () => {
    expect((await finding(tree, { pattern: "*.md" })).text).toBe("top.md\nsub/one.md\nsub/deep/two.md");
    expect((await finding(tree, { pattern: "sub/**/*.md" })).text).toBe("sub/one.md\nsub/deep/two.md");
    expect((await finding(tree, { pattern: "deep/*.md", path: "sub" })).text).toBe("deep/two.md\n\n[Paths are below sub.]");
    expect((await finding(tree, { pattern: "**/*.{ts,md}", path: "./sub/deep" })).text).toBe("two.md\nx.ts\n\n[Paths are below sub/deep.]");
    expect((await finding(tree, { pattern: "./sub/*" })).text).toBe("sub/deep/\nsub/one.md");
    expect((await finding(tree, { pattern: "*e*/" })).text).toBe("sub/deep/");
    expect((await finding(tree, { pattern: ".env" })).text).toBe(".env");
    await withFiles(tree, async (cwd) => {
      expect((await call(find, { pattern: `${cwd}/sub/*.md` }, { cwd })).text).toBe("sub/one.md");
      expect(await call(find, { pattern: "../*.md" }, { cwd })).toMatchObject({ isError: true });
    });
  });

  test("without capitals in the pattern case does not matter", async () => {
    expect((await finding(tree, { pattern: "readme*" })).text).toBe("README.TXT");
    expect((await finding(tree, { pattern: "Readme*" })).text).toStartWith("Nothing in . matches Readme*");
  });

  test("stops at its limit and says so", async () => {
    const files = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`f${index}.log`, ""]));
    expect(await finding(files, { pattern: "*.log", limit: 3 })).toMatchObject({ text: "f0.log\nf1.log\nf10.log\n\n[The first 3 only; give a greater limit or a narrower pattern for more.]", details: { resultLimitReached: 3 } });
    expect((await finding(files, { pattern: "*.log", limit: 30 })).details).toBeUndefined();
  });

  test("leaves out what git ignores in the whole repository, and shows links without following them", async () => {
    await withFiles({ ".gitignore": "*.o\n", ".git/HEAD": "", ".git/info/exclude": "secret.txt\n", "sub/a.o": "", "sub/secret.txt": "", "sub/b.c": "" }, async (cwd) => {
      symlinkSync("..", join(cwd, "sub/loop"));
      expect((await call(find, { pattern: "*", path: "sub" }, { cwd })).text).toBe("b.c\nloop\n\n[Paths are below sub.]");
    });
  });

  test("nothing found is told with the way such patterns work", async () => {
    expect(await finding(tree, { pattern: "deep/*.md" })).toMatchObject({ text: "Nothing in . matches deep/*.md (from . on; **/deep/*.md looks at any depth). What git ignores is not looked at." });
    expect(await finding(tree, { pattern: "*", path: "top.md" })).toMatchObject({ isError: true, text: "top.md is not a folder. Give the folder to search as path." });
  });
});

describe("ls", () => {
  test("lists everything in the order of the alphabet, folders with a slash", async () => {
    await withFiles({ "b.txt": "", "A.txt": "", "sub/c.txt": "", ".hidden": "", ".git/config": "" }, async (cwd) => {
      symlinkSync("sub", join(cwd, "to-sub"));
      symlinkSync("nowhere", join(cwd, "broken"));
      expect((await call(ls, {}, { cwd })).text).toBe(".git/\n.hidden\nA.txt\nb.txt\nbroken\nsub/\nto-sub/");
      expect((await call(ls, { path: "sub" }, { cwd })).text).toBe("c.txt");
      expect(await call(ls, { limit: 2 }, { cwd })).toMatchObject({ text: ".git/\n.hidden\n\n[The first 2 of 7 entries; give a greater limit, or use find, for more.]", details: { entryLimitReached: 2 } });
      mkdirSync(join(cwd, "empty"));
      expect((await call(ls, { path: "empty" }, { cwd })).text).toBe("(empty is empty)");
      expect(await call(ls, { path: "b.txt" }, { cwd })).toMatchObject({ isError: true, text: "b.txt is a file, not a folder. Use read to see what is in it." });
      expect(await call(ls, { path: "missing" }, { cwd })).toMatchObject({ isError: true });
    });
  });
});

describe("a large tree", () => {
  const large: Files = Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`d${index % 40}/f${index}.txt`, `some text ${index}\n`.repeat(1_000)]));

  test("is searched in slices, between which others have their turn, and an abort ends it", async () => {
    await withFiles(large, async (cwd) => {
      let turns = 0;
      const timer = setInterval(() => turns++, 1);
      expect((await call(grep, { pattern: "s\\w+e\\s+t\\w+t 39[9]$", limit: 1 }, { cwd })).text).toStartWith("d39/f399.txt:1: some text 399");
      expect((await call(find, { pattern: "f399.*" }, { cwd })).text).toBe("d39/f399.txt");
      clearInterval(timer);
      expect(turns).toBeGreaterThan(5);
      const abort = new AbortController();
      // Without a text that every match must hold, so that each line takes its time.
      const search = call(grep, { pattern: "nowhere \\d+ or s\\w+e", ignoreCase: true }, { cwd, signal: abort.signal });
      setImmediate(() => abort.abort(new Error("stopped")));
      expect(search).rejects.toThrow("stopped");
      await search.catch(() => undefined);
      expect(call(find, { pattern: "nowhere" }, { cwd, signal: abort.signal })).rejects.toThrow("stopped");
    });
  });
});
