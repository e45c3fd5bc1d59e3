import { expect, test } from "bun:test";
import { countWords, durationWords, head, shorten, sizeWords, tail, wordsOf } from "../../src/base/text.ts";

test("a cut leaves no half of a character", () => {
  expect([head("a😀b", 2), head("a😀b", 3), tail("a😀b", 2), tail("a😀b", 3)]).toEqual(["a", "a😀", "b", "😀b"]);
});

test("what fits is left alone, and what was cut off at the end is told by an ellipsis", () => {
  expect([head("abc", 3), tail("abc", 3), shorten("abc", 3), shorten("abcd", 3)]).toEqual(["abc", "abc", "abc", "abc…"]);
});

test("lengths of time are told in the unit that people would take", () => {
  expect([900, 59_000, 300_000, 5_400_000, 18_000_000, 260_000_000].map(durationWords)).toEqual(["1 s", "59 s", "5 min", "90 min", "5 h", "3 days"]);
});

test("whatever is thrown has words", () => {
  expect([new TypeError("no"), "no", 3, undefined].map(wordsOf)).toEqual(["no", "no", "3", "undefined"]);
});

test("sizes and counts are told in words", () => {
  expect([1, 512, 51_200, 1_363_149, 3 * 1024 ** 3].map(sizeWords)).toEqual(["1 byte", "512 bytes", "50 KB", "1.3 MB", "3 GB"]);
  expect([countWords(1, "line"), countWords(0, "line"), countWords(2, "entry", "entries")]).toEqual(["1 line", "0 lines", "2 entries"]);
});
