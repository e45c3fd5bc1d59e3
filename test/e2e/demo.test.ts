import { expect, test } from "bun:test";
import { files, scenes, turns } from "../../scripts/scenes.ts";
import { binary, start } from "../support/rpi.ts";
import { Schemas } from "../support/schemas.ts";

test("the demo's conversation goes as it should, and each of its records is as `rpi schema` says", async () => {
  const schemas = await Schemas.of(await binary());
  const sent: object[] = [];
  await using rpi = await start({ turns, files, onSent: (record) => sent.push(record) });
  for (const { play } of scenes) expect(await play(rpi)).toEqual([]);
  expect(await rpi.finish()).toEqual({ code: 0, signal: null });

  expect(rpi.records.map((record) => schemas.fault(record)).filter((fault) => fault !== undefined)).toEqual([]);
  expect(sent.length).toBeGreaterThan(2);
  expect(sent.map((record) => schemas.commandFault(record)).filter((fault) => fault !== undefined)).toEqual([]);
});
