import { afterEach, beforeEach, expect, test } from "bun:test";
import fs from "node:fs";
import path from "node:path";
import { Session } from "../../src/session/session.ts";
import { Random } from "../support/random.ts";
import { Sandbox } from "../support/sandbox.ts";
import { Host } from "./host.ts";
import { put, talk } from "./made.ts";

/** More by RPI_KILL_RUNS. */
const RUNS = Number(process.env["RPI_KILL_RUNS"] ?? 30);

let box: Sandbox;
beforeEach(() => void (box = new Sandbox()));
afterEach(() => box[Symbol.dispose]());

test(`a kill at any moment loses no entry that was told, and the session goes on (${RUNS} times)`, async () => {
  const random = new Random(9);
  const file = put(path.join(box.dir, "made.jsonl"), talk(["q", "a"]));
  const told: string[] = [];
  let unexpected = 0;
  for (let run = 0; run < RUNS; run++) {
    await using host = await Host.start();
    expect(await host.ask(`open ${file}`)).toEqual({ opened: expect.any(Number) });
    host.tell("spam");
    for (let wanted = random.below(60); wanted >= 0; wanted--) told.push((await host.answer()).id);
    await host.kill();
    // What it had said before its end and nobody had read yet.
    for (let answer = await host.answer(); answer; answer = await host.answer()) told.push(answer.id);
    const session = await Session.open(file);
    const ids = new Set((await session.entries()).entries.map(({ id }) => id));
    expect(told.filter((id) => !ids.has(id))).toEqual([]);
    unexpected += session.notices.filter(({ code }) => code !== "session_torn_line" && code !== "session_bad_lines").length;
    expect(session.messages().length).toBe(ids.size);
    session.close();
  }
  expect(unexpected).toBe(0);
  expect(told.length).toBeGreaterThan(RUNS);
  expect(fs.readdirSync(box.dir).filter((name) => name.startsWith("made"))).toEqual(["made.jsonl"]);
}, 10_000 + RUNS * 2000);

test("a kill while sessions are begun leaves each either whole or not there", async () => {
  for (let run = 0; run < 5; run++) {
    await using host = await Host.start();
    const made: string[] = [];
    for (let i = 0; i < 20; i++) host.tell(`create ${path.join(box.dir, "new")} r${run}-${i}`);
    for (let i = 0; i < 4 * run; i++) made.push((await host.answer()).file);
    await host.kill();
    for (const file of made) {
      const session = await Session.open(file);
      expect(session.notices).toEqual([]);
      session.close();
    }
  }
}, 30_000);
