import { expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { removeOutputFiles } from "../../src/process/output-files.ts";
import { MAX_BYTES, Output } from "../../src/process/output.ts";

async function collect(pieces: (string | Uint8Array)[]) {
  const output = new Output();
  let text = "";
  for (const piece of pieces) {
    const added = output.add(typeof piece === "string" ? Buffer.from(piece) : piece);
    text += added.text;
    await added.ready;
  }
  text += output.end();
  const { full, ...tail } = await output.close();
  const file = full.path === undefined ? undefined : readFileSync(full.path);
  const mode = full.path === undefined ? undefined : statSync(full.path).mode & 0o777;
  removeOutputFiles();
  return { tail, text, file, mode };
}

const lines = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => `${from + i}\n`).join("");

test("a short output is kept whole and leaves no file", async () => {
  const { tail, text, file } = await collect(["one\n", "tw", "o"]);
  expect(tail).toEqual({ output: "one\ntwo", truncated: false, totalLines: 2, totalBytes: 7, shownLines: 2, shownFromLine: 1, isLineCut: false });
  expect([text, file]).toEqual(["one\ntwo", undefined]);
});

test("nothing at all is no line", async () => {
  const { tail } = await collect([]);
  expect(tail).toEqual({ output: "", truncated: false, totalLines: 0, totalBytes: 0, shownLines: 0, shownFromLine: 1, isLineCut: false });
});

test("two thousand lines are kept, of one more the first goes", async () => {
  expect((await collect([lines(1, 2000)])).tail.truncated).toBe(false);
  const { tail, file, mode } = await collect([lines(1, 2001)]);
  expect(tail).toEqual({ output: lines(2, 2001), truncated: true, totalLines: 2001, totalBytes: lines(1, 2001).length, shownLines: 2000, shownFromLine: 2, isLineCut: false });
  expect(file?.toString()).toBe(lines(1, 2001));
  expect(mode).toBe(0o600);
});

test("an unfinished last line counts as one", async () => {
  const { tail } = await collect([lines(1, 2000), "end"]);
  expect(tail.output).toBe(`${lines(2, 2000)}end`);
  expect([tail.totalLines, tail.shownLines, tail.shownFromLine]).toEqual([2001, 2000, 2]);
});

test("more than 50 KiB begin with a whole line", async () => {
  const line = `${"x".repeat(999)}\n`;
  const { tail, file } = await collect([line.repeat(100)]);
  expect(tail).toEqual({ output: line.repeat(51), truncated: true, totalLines: 100, totalBytes: 100_000, shownLines: 51, shownFromLine: 50, isLineCut: false });
  expect(file?.length).toBe(100_000);
});

test("one endless line is cut on a character border", async () => {
  const { tail } = await collect(["日".repeat(100_000)]);
  expect(tail.output).toBe("日".repeat(Math.floor(MAX_BYTES / 3)));
  expect([tail.truncated, tail.totalLines, tail.shownFromLine, tail.isLineCut]).toEqual([true, 1, 1, true]);
});

test("characters cut between two pieces stay whole, and what is no UTF-8 is replaced", async () => {
  const bytes = Buffer.from("é日🙂\n");
  expect((await collect([...bytes].map((byte) => Uint8Array.of(byte)))).text).toBe("é日🙂\n");
  expect((await collect([Uint8Array.of(0x61, 0xff, 0xfe, 0x62), Uint8Array.of(0xe6, 0x97)])).text).toBe("a��b�");
});

test("a control character cut between two pieces is stripped too", async () => {
  const { text, tail } = await collect([Uint8Array.of(0x61, 0xc2), Uint8Array.of(0x85, 0x62)]);
  expect([text, tail.totalBytes]).toEqual(["ab", 2]);
});

test("the file holds the bytes as they came, escapes too, from the very first", async () => {
  const piece = Buffer.concat([Buffer.from("\x1b[31m"), Uint8Array.of(0xff), Buffer.from("red\x1b[0m\r\n")]);
  const { tail, file } = await collect(Array.from({ length: 3000 }, () => piece));
  expect(tail.output).toBe("�red\n".repeat(2000));
  expect(file?.equals(Buffer.concat(Array.from({ length: 3000 }, () => piece)))).toBe(true);
});

test("escapes alone make no output, and the memory for them is bounded by a file that goes again", async () => {
  const { tail, text, file } = await collect(Array.from({ length: 50 }, () => "\x1b[0m".repeat(5000)));
  expect([tail.output, tail.truncated, text, file]).toEqual(["", false, "", undefined]);
});

test("many tiny pieces are kept like one", async () => {
  const { tail } = await collect(Array.from({ length: 60_000 }, (_, i) => String(i % 10)));
  expect([tail.output.length, tail.output.slice(-3), tail.totalBytes]).toEqual([MAX_BYTES, "789", 60_000]);
});
