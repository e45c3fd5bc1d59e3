import { expect, test } from "bun:test";
import { durationWords, wordsOf } from "../../src/base/words.ts";

test("lengths of time are told in the unit that people would take", () => {
  expect([900, 59_000, 300_000, 5_400_000, 18_000_000, 260_000_000].map(durationWords)).toEqual(["1 s", "59 s", "5 min", "90 min", "5 h", "3 days"]);
});

test("whatever is thrown has words", () => {
  expect([new TypeError("no"), "no", 3, undefined].map(wordsOf)).toEqual(["no", "no", "3", "undefined"]);
});
