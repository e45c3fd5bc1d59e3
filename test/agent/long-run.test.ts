import { expect, test } from "bun:test";
import { asks, call, rig, says, start, text, tool } from "./rig.ts";

test("a late turn of a long run tells and stores as much as an early one", async () => {
  const TURNS = 200;
  /** What had been told and stored when the model was asked. */
  const marks: { bytes: number; entries: number }[] = [];
  let bytes = 0;
  let entries = 0;
  const one = () => asks(call("echo", { n: 1 }, "call-a"), call("echo", { n: 2 }, "call-b"));
  const r = rig({
    steps: [...Array.from({ length: TURNS }, one), says("end")],
    tools: [tool("echo", () => text("x".repeat(500)))],
    settings: { compaction: { enabled: true, reserveTokens: 1000, keepRecentTokens: 1000 } },
    more: { emit: (event) => { if (event.type === "turn_start") marks.push({ bytes, entries }); bytes += JSON.stringify({ ...event, durationMs: 0 }).replace(/"(timestamp|durationMs)":\d+/g, "").length; } },
  });
  const append = r.session.append.bind(r.session);
  r.session.append = (body) => { entries++; return append(body); };
  start(r.agent, "go");
  await r.agent.whenIdle();
  expect(r.session.messages().length).toBe(1 + 3 * TURNS + 1);
  const cost = (turn: number) => ({ bytes: marks[turn + 1]!.bytes - marks[turn]!.bytes, entries: marks[turn + 1]!.entries - marks[turn]!.entries });
  expect(cost(190)).toEqual(cost(5));
  expect(cost(5).entries).toBe(3);
});
