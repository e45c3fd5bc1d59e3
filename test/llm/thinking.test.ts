import { expect, test } from "bun:test";
import type { ModelSpec } from "../../src/llm/model.ts";
import { clampLevel, supportedLevels, thinkingBudget } from "../../src/llm/thinking.ts";
import { specOf } from "./transcript.ts";

const reasoning = (thinkingLevelMap: ModelSpec["thinkingLevelMap"] = {}) => specOf("x", { reasoning: true }, { thinkingLevelMap });
const PLAIN = specOf("x");

test("A model without reasoning is always off", () => {
  expect(supportedLevels(PLAIN)).toEqual(["off"]);
  expect([clampLevel(PLAIN, "high"), clampLevel(PLAIN, "off")]).toEqual(["off", "off"]);
});

test("A model has the levels up to high, more or less by its map", () => {
  expect(supportedLevels(reasoning())).toEqual(["off", "minimal", "low", "medium", "high"]);
  expect(supportedLevels(reasoning({ off: null, minimal: null, xhigh: "very-high" }))).toEqual(["low", "medium", "high", "xhigh"]);
});

test("A level that a model does not take is the next one up, else the next one down", () => {
  expect(clampLevel(reasoning(), "max")).toBe("high");
  expect(clampLevel(reasoning({ off: null, minimal: null }), "off")).toBe("low");
  expect(clampLevel(reasoning({ low: null }), "low")).toBe("medium");
  expect(clampLevel(reasoning({ max: "max" }), "xhigh")).toBe("max");
});

test("A budget leaves room for the answer", () => {
  expect([thinkingBudget("off", 9000), thinkingBudget("low", 9000), thinkingBudget("high", 9000), thinkingBudget("high", undefined), thinkingBudget("high", 500)]).toEqual([0, 2048, 7976, 16_384, 0]);
});
