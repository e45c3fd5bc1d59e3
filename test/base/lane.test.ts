import { expect, test } from "bun:test";
import { Lane } from "../../src/base/lane.ts";

test("a task in an empty lane begins before run returns", () => {
  const lane = new Lane();
  let begun = false;
  void lane.run(() => { begun = true; });
  expect(begun).toBe(true);
  expect(lane.idle).toBe(true);
});

test("tasks run one after another in the order in which they came", async () => {
  const lane = new Lane();
  const log: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = lane.run(async () => { log.push("a begins"); await gate.promise; log.push("a ends"); });
  const second = lane.run(() => { log.push("b"); });
  const third = lane.run(async () => { log.push("c"); });
  expect(log).toEqual(["a begins"]);
  expect(lane.idle).toBe(false);
  gate.resolve();
  await Promise.all([first, second, third]);
  expect(log).toEqual(["a begins", "a ends", "b", "c"]);
  expect(lane.idle).toBe(true);
});

test("a task that fails gives its failure and lets the next one begin", async () => {
  const lane = new Lane();
  const failing = Promise.allSettled([
    lane.run(async () => { throw new Error("async"); }),
    lane.run(() => { throw new Error("sync"); }),
  ]);
  const after = lane.run(() => "fine");
  expect((await failing).map((end) => (end as PromiseRejectedResult).reason.message)).toEqual(["async", "sync"]);
  expect(await after).toBe("fine");
});

test("settled waits for what is in the lane now", async () => {
  const lane = new Lane();
  const gate = Promise.withResolvers<void>();
  let ended = false;
  void lane.run(() => gate.promise.then(() => { ended = true; }));
  const settled = lane.settled();
  gate.resolve();
  await settled;
  expect(ended).toBe(true);
});
