import { expect, test } from "bun:test";
import { wellFormed } from "../../src/base/json.ts";

test("half a surrogate pair becomes a replacement character, and nothing else is touched", () => {
  expect(JSON.parse(wellFormed(JSON.stringify(["\ud83d!", "\udc00", "🎉", "\\ud83d", "\\\\udc00 \ud83d"])))).toEqual(["\ufffd!", "\ufffd", "🎉", "\\ud83d", "\\\\udc00 \ufffd"]);
});
