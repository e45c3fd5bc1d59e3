import { expect, test } from "bun:test";
import { PlainText } from "../../src/process/plain-text.ts";

const plain = (...pieces: string[]) => {
  const text = new PlainText();
  return pieces.map((piece) => text.push(piece)).join("");
};

const EVERYTHING =
  "a\x1b[31mred\x1b[0m\x07\0 b\r\nc\x1b]0;title\x07d\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\e\x1b(Bf\x1b7g\x1bPdevice\x1b\\h\x9b1mi\x9dosc\x9cj\x7f\tk\n";

test("colours, titles, links and control characters go, tabs and newlines stay", () => {
  expect(plain(EVERYTHING)).toBe("ared b\ncdlinkefghij\tk\n");
});

test("a sequence cut anywhere between two pieces is taken out whole", () => {
  const whole = plain(EVERYTHING);
  for (let at = 0; at <= EVERYTHING.length; at += 1) expect(plain(EVERYTHING.slice(0, at), EVERYTHING.slice(at))).toBe(whole);
  expect(plain(...EVERYTHING)).toBe(whole);
});

test("an unfinished sequence ends at the newline and swallows nothing behind it", () => {
  expect(plain("\x1b]title without end\nnext\n")).toBe("\nnext\n");
  expect(plain("\x1bP", "data", "\nnext\n")).toBe("\nnext\n");
  expect(plain("\x1b[31\nnext\n")).toBe("\nnext\n");
});

test("a carriage return is dropped whether a newline follows or not", () => {
  expect(plain("one\r\ntwo\rthree\r", "\nfour")).toBe("one\ntwothree\nfour");
});

test("letters beyond ASCII and emoji are kept", () => {
  expect(plain("é日本🙂\u00a0\u2028")).toBe("é日本🙂\u00a0\u2028");
});
