import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { edit } from "../../src/tools/edit.ts";
import { call, inFolder } from "./calling.ts";

/** Edits one file; gives what the tool said and what is in the file then. */
async function editing(content: string | Uint8Array, args: Record<string, unknown>) {
  return inFolder(async (cwd) => {
    const path = join(cwd, "file.txt");
    writeFileSync(path, content);
    const result = await call(edit, { path: "file.txt", ...args }, { cwd });
    return { ...result, file: readFileSync(path, "utf8") };
  });
}

test("several edits are made at once, and the result tells where they are now", async () => {
  const { text, details, file } = await editing("one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n", {
    edits: [
      { oldText: "two", newText: "2\n2b" },
      { oldText: "nine\n", newText: "" },
    ],
  });
  expect(file).toBe("one\n2\n2b\nthree\nfour\nfive\nsix\nseven\neight\nten\n");
  expect(text).toBe("Changed file.txt: 2 replacements, now at line 2-3, before 10 (removed).");
  expect(details).toEqual({ diff: "  1 one\n- 2 two\n+ 2 2\n+ 3 2b\n  3 three\n  4 four\n  5 five\n  6 six\n  7 seven\n  8 eight\n- 9 nine\n 10 ten", firstChangedLine: 2 });
});

test("the diff leaves out what is far from a change, on both sides", async () => {
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`);
  const { details } = await editing(`${lines.join("\n")}\n`, { edits: [{ oldText: "line 10\n", newText: "ten\n" }, { oldText: "line 20\nline 21\nline 22", newText: "line 20\nnew\nline 22" }] });
  expect((details as { diff: string }).diff.split("\n")).toEqual([
    "    ...", "  7 line 7", "  8 line 8", "  9 line 9", "-10 line 10", "+10 ten", " 11 line 11", " 12 line 12", " 13 line 13",
    "    ...", " 18 line 18", " 19 line 19", " 20 line 20", "-21 line 21", "+21 new", " 22 line 22", " 23 line 23", " 24 line 24", "    ...",
  ]);
});

test("edits on one line are one change of the diff", async () => {
  const { details, text } = await editing("a b c\n", { edits: [{ oldText: "a", newText: "A" }, { oldText: "c", newText: "C" }] });
  expect(details).toEqual({ diff: "-1 a b c\n+1 A b C", firstChangedLine: 1 });
  expect(text).toBe("Changed file.txt: 2 replacements, now at line 1.");
});

test("in a large block only the lines that differ are in the diff", async () => {
  const { details } = await editing("a\nb\nc\nd\ne\nf\n", { oldText: "a\nb\nc\nd\ne\nf", newText: "a\nB\nc\nd\nE\nf\ng" });
  expect((details as { diff: string }).diff).toBe(" 1 a\n-2 b\n+2 B\n 3 c\n 4 d\n-5 e\n+5 E\n 6 f\n+7 g");
});

test("the older shapes of arguments are taken", async () => {
  for (const args of [
    { oldText: "two", newText: "2" },
    { edits: { oldText: "two", newText: "2" } },
    { edits: '[{"oldText":"two","newText":"2"}]' },
    { edits: '{"oldText":"two","newText":"2"}' },
    { edits: [], oldText: "two", newText: "2" },
  ]) {
    expect((await editing("one\ntwo\n", args)).file).toBe("one\n2\n");
  }
});

test("a byte order mark stays, is not needed to match, and is never added", async () => {
  expect((await editing("\uFEFFone\r\ntwo\r\n", { oldText: "one", newText: "1" })).file).toBe("\uFEFF1\r\ntwo\r\n");
  expect((await editing("\uFEFFone\r\ntwo\r\n", { oldText: "\uFEFFone\ntwo", newText: "\uFEFF1\n2" })).file).toBe("\uFEFF1\r\n2\r\n");
  expect((await editing("one\ntwo\n", { oldText: "one", newText: "\uFEFF1" })).file).toBe("1\ntwo\n");
});

test("nothing is changed when one of several edits does not fit", async () => {
  const { file, isError, text } = await editing("other\n", { edits: [{ oldText: "other", newText: "x" }, { oldText: "nowhere", newText: "y" }] });
  expect([file, isError]).toEqual(["other\n", true]);
  expect(text).toStartWith("edits[1] was not found");
});

test("an edit that is empty or changes nothing is refused", async () => {
  expect((await editing("a\n", { oldText: "", newText: "x" })).text).toContain("edits[0].oldText is empty. To add text");
  expect((await editing("a\n", { oldText: "a", newText: "a" })).text).toBe("edits[0] changes nothing: oldText and newText are the same. Nothing was changed.");
  expect((await editing("a\r\nb\r\n", { oldText: "a\r\nb", newText: "a\nb" })).text).toBe("Nothing was changed: file.txt already reads so, apart from line ends, which edits keep. To convert those use bash.");
});

test("a tolerant match is told", async () => {
  expect((await editing("say(“hi”)\n", { oldText: 'say("hi")', newText: "x" })).text).toBe("Changed file.txt: 1 replacement, now at line 1. Some quotes, dashes or spaces differed from oldText; copy them from the file next time.");
  expect((await editing("a  \nb\n", { oldText: "a\nb", newText: "x" })).text).toEndWith("Blanks at the ends of lines differed from oldText.");
});

test("what is not UTF-8 is refused and stays as it is", async () => {
  await inFolder(async (cwd) => {
    const bytes = Buffer.from("caf\xe9 one\n", "latin1");
    writeFileSync(join(cwd, "old.txt"), bytes);
    expect(await call(edit, { path: "old.txt", oldText: "one", newText: "two" }, { cwd })).toMatchObject({ isError: true, text: "old.txt is not valid UTF-8, and an edit would damage it. Change it with bash, e.g. with sed -i under LC_ALL=C." });
    expect(readFileSync(join(cwd, "old.txt"))).toEqual(bytes);
  });
});

test("mode and links stay, and only files can be edited", async () => {
  await inFolder(async (cwd) => {
    mkdirSync(join(cwd, "sub"));
    writeFileSync(join(cwd, "sub/run.sh"), "echo one\n");
    chmodSync(join(cwd, "sub/run.sh"), 0o755);
    symlinkSync("sub/run.sh", join(cwd, "run"));
    expect((await call(edit, { path: "run", oldText: "one", newText: "two" }, { cwd })).isError).toBeUndefined();
    expect([readFileSync(join(cwd, "sub/run.sh"), "utf8"), statSync(join(cwd, "sub/run.sh")).mode & 0o777]).toEqual(["echo two\n", 0o755]);
    expect((await call(edit, { path: "sub", oldText: "one", newText: "two" }, { cwd })).text).toBe("sub is a folder. Give the path of a text file.");
    expect((await call(edit, { path: "rum", oldText: "one", newText: "two" }, { cwd })).text).toBe("There is nothing at rum. Did you mean run?");
  });
});

test("a file of some megabytes is edited in well under a second", async () => {
  const text = Array.from({ length: 200_000 }, (_, index) => `const value${index} = "${index}";`).join("\r\n");
  const begin = performance.now();
  const { file } = await editing(text, { edits: [{ oldText: 'const value150000 = "150000";', newText: "gone();" }, { oldText: "const value7 = “7”;", newText: "seven();" }] });
  expect(performance.now() - begin).toBeLessThan(3_000);
  expect(file).toBe(text.replace('const value150000 = "150000";', "gone();").replace('const value7 = "7";', "seven();"));
});
