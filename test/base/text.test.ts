import { expect, test } from "bun:test";
import { head, shorten, tail } from "../../src/base/text.ts";

test("a cut leaves no half of a character", () => {
  expect([head("a😀b", 2), head("a😀b", 3), tail("a😀b", 2), tail("a😀b", 3)]).toEqual(["a", "a😀", "b", "😀b"]);
});

test("what fits is left alone, and what was cut off at the end is told by an ellipsis", () => {
  expect([head("abc", 3), tail("abc", 3), shorten("abc", 3), shorten("abcd", 3)]).toEqual(["abc", "abc", "abc", "abc…"]);
});
