import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import { Progress } from "../../src/agent/progress.ts";
import { textOf } from "../../src/llm/message.ts";
import type { ToolResult } from "../../src/tools/tool.ts";
import { text } from "./rig.ts";

let now = 0;
const told: { at: number; partial: ToolResult }[] = [];
const progress = (cost = 0) => new Progress(() => cost, (partial) => told.push({ at: now, partial }), () => now);
const pass = (ms: number) => { now += ms; jest.advanceTimersByTime(ms); };

beforeEach(() => { jest.useFakeTimers(); now = 0; told.length = 0; });
afterEach(() => { jest.useRealTimers(); });

describe("the progress of a call", () => {
  test("is told ten times in any second at most, the end's flush included", () => {
    const one = progress();
    for (let i = 0; i < 300; i++) { one.update(text(`${i}`)); pass(10); }
    one.update(text("last"));
    one.end();
    const times = told.map(({ at }) => at);
    for (const at of times) expect(times.filter((other) => other >= at && other < at + 1000).length).toBeLessThanOrEqual(10);
    expect(times.length).toBeGreaterThan(25);
    expect(textOf(told.at(-1)!.partial.content)).toBe("last");
  });

  test("tells the newest of what came close together a little later", () => {
    const one = progress();
    for (const words of ["a", "b", "c"]) one.update(text(words));
    pass(200);
    expect(told.map(({ partial }) => textOf(partial.content))).toEqual(["a", "c"]);
  });

  test("shows the end of a long text, from a line's start, and no image", () => {
    const one = progress();
    one.update({ content: [{ type: "text", text: `${"x".repeat(50)}\n`.repeat(1000) }, { type: "image", data: "A".repeat(9000), mimeType: "image/png" }], details: { lines: 1000 } });
    const shown = told[0]!.partial;
    expect(shown.details).toEqual({ lines: 1000 });
    expect(textOf(shown.content)).toMatch(/^(x{50}\n){20}$/);
    expect(shown.content.map(({ type }) => type)).toEqual(["text"]);
  });

  test("never cuts a character in two", () => {
    const one = progress();
    one.update(text(`${"😀".repeat(2000)}x`));
    expect(textOf(told[0]!.partial.content)).toMatch(/^😀+x$/u);
  });

  test("slows down once it has cost much", () => {
    const one = progress(10_000);
    for (let i = 0; i < 1000; i++) { one.update(text("x")); pass(10); }
    one.end();
    expect(told.length).toBeLessThan(5);
    expect(told.length).toBeGreaterThan(1);
  });

  test("is over with its end", () => {
    const one = progress();
    one.end();
    one.update(text("late"));
    pass(1000);
    expect(told).toEqual([]);
  });
});
