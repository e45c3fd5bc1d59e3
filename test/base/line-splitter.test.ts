import { expect, test } from "bun:test";
import { keptBytes } from "../support/heap.ts";
import { LineSplitter } from "../../src/base/line-splitter.ts";

function split(chunks: (string | Uint8Array)[], maxBytes = 64, ended = true): (string | "too long")[] {
  const lines: string[] = [];
  const splitter = new LineSplitter(maxBytes, (line) => lines.push("tooLong" in line ? "too long" : Buffer.from(line).toString("utf8")));
  for (const chunk of chunks) splitter.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  if (ended) splitter.end();
  return lines;
}

test("only LF ends a line, wherever the chunks are cut", () => {
  const text = "a\u2028b\u0085\n\nsecond\r\r\nlast é";
  const bytes = Buffer.from(text);
  const expected = ["a\u2028b\u0085", "", "second", "last é"];
  for (let size = 1; size <= bytes.length; size += 1) {
    const chunks = [];
    for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
    expect(split(chunks)).toEqual(expected);
  }
});

test("a line of the limit passes, one byte more is told once and the next line is read", () => {
  expect(split(["12345\n123456\nok\n"], 5)).toEqual(["12345", "too long", "ok"]);
  expect(split(["123", "45\n", "123", "456", "789\nok"], 5)).toEqual(["12345", "too long", "ok"]);
});

test("carriage returns before the LF do not count towards the limit", () => {
  expect(split(["12345\r\n"], 5)).toEqual(["12345"]);
  expect(split(["123", "45", "\r", "\n"], 5)).toEqual(["12345"]);
});

test("a last line without LF is a line, an empty rest is none", () => {
  expect(split(["a\nb"])).toEqual(["a", "b"]);
  expect(split(["a\n"])).toEqual(["a"]);
  expect(split(["x".repeat(100)], 5)).toEqual(["too long"]);
});

test("a line that is too long keeps nothing", () => {
  const lines: unknown[] = [];
  const splitter = new LineSplitter(1000, (line) => lines.push(line));
  const block = new Uint8Array(1 << 20).fill(120);
  const before = keptBytes();
  for (let i = 0; i < 100; i += 1) splitter.push(block.slice());
  expect(keptBytes() - before).toBeLessThan(10e6);
  splitter.push(Buffer.from("\n"));
  expect(lines).toEqual([{ tooLong: true }]);
});
