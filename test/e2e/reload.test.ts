import { expect, test } from "bun:test";
import { start } from "../support/rpi.ts";

const server = (id: string, contextWindow: number) => ({ providers: { mine: { baseUrl: "http://127.0.0.1:9/v1", api: "openai-completions", models: [{ id, contextWindow }] } } });

test("reload takes what has changed in the files and says what", async () => {
  await using rpi = await start({ model: "mine/one", agentFiles: { "models.json": server("one", 1000), "settings.json": {} } });
  expect(await rpi.ok("reload")).toEqual({ changed: [] });
  rpi.sandbox.writeAgent("models.json", server("one", 2000));
  rpi.sandbox.writeAgent("settings.json", { retry: { enabled: false } });
  expect(await rpi.ok("reload")).toEqual({ changed: ["settings", "models"] });
  expect((await rpi.ok("get_state")).model.contextWindow).toBe(2000);
});

test("a broken file leaves the old state standing, and is told", async () => {
  await using rpi = await start({ model: "mine/one", agentFiles: { "models.json": server("one", 1000) } });
  await rpi.ok("get_state");
  rpi.sandbox.writeAgent("models.json", "{ broken");
  const from = rpi.mark();
  expect(await rpi.ok("reload")).toEqual({ changed: [] });
  expect(rpi.events("notice", from).map((notice) => notice["message"])).toEqual([expect.stringContaining("models.json")]);
  expect((await rpi.ok("get_state")).model.id).toBe("one");
});

test("what of a changed file cannot be used is told", async () => {
  await using rpi = await start({ model: "mine/one", agentFiles: { "models.json": server("one", 1000) } });
  await rpi.ok("get_state");
  const changed = server("one", 2000);
  rpi.sandbox.writeAgent("models.json", { providers: { ...changed.providers, other: { models: [{ id: "two" }] } } });
  const from = rpi.mark();
  expect(await rpi.ok("reload")).toEqual({ changed: ["models"] });
  expect(rpi.events("notice", from).map((notice) => notice["message"])).toEqual([expect.stringContaining("two")]);
});

test("reload during a run is refused", async () => {
  await using rpi = await start({ turns: [[{ text: "a" }, { delayMs: 60_000 }]] });
  await rpi.begin("go");
  expect(await rpi.refused("reload")).toMatchObject({ code: "busy" });
  await rpi.ok("abort");
  expect(await rpi.ok("reload")).toEqual({ changed: [] });
});
