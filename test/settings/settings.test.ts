import { expect, test } from "bun:test";
import { readSettings } from "../../src/settings/settings.ts";

const defaults = {
  defaultThinkingLevel: "medium", steeringMode: "one-at-a-time", followUpMode: "one-at-a-time",
  compaction: { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 },
  retry: { enabled: true, maxRetries: 3, baseDelayMs: 2000, maxDelayMs: 60000 },
  timeouts: { connectMs: 30000, firstEventMs: 300000, idleMs: 120000 },
  childEnv: { allow: [] },
};

function read(content: unknown): { settings: unknown; faults: string[] } {
  const faults: string[] = [];
  return { settings: readSettings(content, (words) => faults.push(words)), faults };
}

test("no file gives the defaults", () => {
  expect(read(undefined)).toEqual({ settings: defaults, faults: [] } as never);
});

test("what a file says is taken, keys of others are left alone", () => {
  const { settings, faults } = read({ defaultModel: "m", retry: { maxRetries: 1 }, childEnv: { allow: ["A"] }, theme: "dark", packages: [1] });
  expect(settings).toEqual({ ...defaults, defaultModel: "m", retry: { ...defaults.retry, maxRetries: 1 }, childEnv: { allow: ["A"] } });
  expect(faults).toEqual([]);
});

test("a wrong value is named and its default stays", () => {
  const { settings, faults } = read({ steeringMode: "some", retry: { enabled: 1, baseDelayMs: -5 }, compaction: [], enabledModels: [1], shellPath: "" });
  expect(settings).toEqual(defaults);
  expect(faults).toEqual([
    "steeringMode must be one of all, one-at-a-time; ignored",
    "compaction must be an object; ignored",
    "retry.enabled must be true or false; ignored",
    "retry.baseDelayMs must be a number from 0; ignored",
    "enabledModels must be a list of texts; ignored",
    "shellPath must be a text; ignored",
  ]);
});

test("a file that holds no object is ignored as a whole", () => {
  expect(read([1])).toEqual({ settings: defaults, faults: ["the file must be an object; ignored"] } as never);
});
