import { describe, expect, test } from "bun:test";
import { parseLenient } from "../../src/llm/lenient-json.ts";

const cut = (where: string, text: string) => `the arguments end ${where}, after ${text.length} characters`;

test("JSON is read as JSON", () => {
  for (const value of [{ a: [1, "x", null, true, { b: -1.5e3 }] }, [], "x", 7, null]) expect(parseLenient(JSON.stringify(value))).toEqual({ value });
});

test("Raw control characters in strings are what they are", () => {
  expect(parseLenient('{"a":"x\n\ty\u0000\\n\\u00e9\\"\\/"}')).toEqual({ value: { a: 'x\n\ty\u0000\né"/' } });
});

describe("What is cut off is kept as far as it goes", () => {
  const cases: [text: string, value: unknown, where: string][] = [
    ["", undefined, "before a value"],
    ["{", {}, "in an object"],
    ['{"a', {}, "in the middle of a string"],
    ['{"a"', {}, "after a name"],
    ['{"a":', {}, "before a value"],
    ['{"a":"x', { a: "x" }, "in the middle of a string"],
    ['{"a":"x\\', { a: "x" }, "in the middle of a string"],
    ['{"a":"x\\u00', { a: "x" }, "in the middle of a string"],
    ['{"a":"x",', { a: "x" }, "in an object"],
    ['{"a":[1,', { a: [1] }, "in a list"],
    ['{"a":[{"b":"c', { a: [{ b: "c" }] }, "in the middle of a string"],
    ['{"a":tru', {}, "in the middle of a value"],
    ['{"a":1,"b":-', { a: 1 }, "in the middle of a value"],
  ];
  for (const [text, value, where] of cases) test(text || "nothing", () => expect(parseLenient(text)).toEqual({ value, fault: cut(where, text) }));
});

test("What is wrong is told with its place", () => {
  expect(parseLenient('{"a":1,b:2}')).toEqual({ value: { a: 1 }, fault: "expected a name at character 8" });
  expect(parseLenient('{"a" 1}')).toEqual({ value: {}, fault: 'expected ":" at character 6' });
  expect(parseLenient("{'a':1}")).toEqual({ value: {}, fault: "expected a name at character 2" });
});

test("What follows a whole value is passed over, and commas too many", () => {
  expect(parseLenient('{"a":1}}')).toEqual({ value: { a: 1 } });
  expect(parseLenient('{"a":[1,],}')).toEqual({ value: { a: [1] } });
});

test("Names that mean something to JavaScript are names", () => {
  const { value } = parseLenient('{"__proto__":{"x":1},"a":"\n"}');
  expect(Object.keys(value as object)).toEqual(["__proto__", "a"]);
  expect(({} as { x?: number }).x).toBeUndefined();
});

test("Depth without end is a fault, not a crash", () => {
  expect(parseLenient("[".repeat(100_000)).fault).toBe("the arguments are nested too deeply");
  expect(parseLenient(`{"a":${"[".repeat(100_000)}`).fault).toBe("the arguments are nested too deeply");
});

test("A long text is read in a moment", () => {
  const text = `{"a":"${"x\n".repeat(500_000)}`;
  const began = performance.now();
  expect((parseLenient(text).value as { a: string }).a.length).toBe(1_000_000);
  expect(performance.now() - began).toBeLessThan(1000);
});
