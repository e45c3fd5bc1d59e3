import { afterEach, describe, expect, test } from "bun:test";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { parseInterval } from "../../src/agent/interval.ts";
import { LoopStore } from "../../src/agent/loop-store.ts";
import { loopsFile } from "../../src/agent/loops-file.ts";
import { type LoopClock, type LoopEvent, type LoopHost, LoopScheduler, systemClock } from "../../src/agent/loops.ts";
import { Refusal } from "../../src/base/refusal.ts";
import type { CustomMessage } from "../../src/session/message.ts";
import { Random } from "../support/random.ts";
import { refusalOf } from "../support/refusal.ts";

const START = Date.parse("2026-01-01T00:00:00.000Z");
const SECOND = 1000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A clock that goes when it is told to. Timers run in order; between them what waits for a promise gets its turn. */
class FakeClock implements LoopClock {
  time = START;
  #timers: { at: number; run: () => void }[] = [];

  now = () => this.time;

  after(ms: number, run: () => void) {
    const timer = { at: this.time + ms, run };
    this.#timers.push(timer);
    return () => void (this.#timers = this.#timers.filter((one) => one !== timer));
  }

  async advance(ms: number): Promise<void> {
    const end = this.time + ms;
    await turns();
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.time = Math.max(this.time, next.at);
      this.#timers = this.#timers.filter((one) => one !== next);
      next.run();
      await turns();
    }
    this.time = end;
  }

  /** As when somebody sets the clock: no timer notices. */
  jump(ms: number): void {
    this.time += ms;
    for (const timer of this.#timers) timer.at += ms;
  }

  get pending(): number {
    return this.#timers.length;
  }

  #next(end: number) {
    return this.#timers.filter((one) => one.at <= end).sort((a, b) => a.at - b.at)[0];
  }
}

const turns = async () => {
  for (let i = 0; i < 10; i += 1) await Promise.resolve();
};

type End = { aborted: boolean; stopReason: string; errorMessage?: string };
const DONE: End = { aborted: false, stopReason: "stop" };

/** An agent that runs until it is told how the run ends. */
class FakeHost implements LoopHost {
  fired: CustomMessage[] = [];
  aborts = 0;
  refuses: Error | undefined;
  #isBusy = false;
  #end: ((end: End) => void) | undefined;
  #resting: (() => void)[] = [];

  isIdle = () => !this.#isBusy;

  whenIdle = (): Promise<void> => (this.#isBusy ? new Promise((resolve) => this.#resting.push(resolve)) : Promise.resolve());

  async fire(message: CustomMessage): Promise<End> {
    if (this.#isBusy) throw new Error("fired while busy");
    if (this.refuses) throw this.refuses;
    this.fired.push(message);
    this.busy(true);
    return new Promise((resolve) => (this.#end = resolve));
  }

  abort(): void {
    this.aborts += 1;
    this.end({ aborted: true, stopReason: "aborted" });
  }

  busy(isBusy: boolean): void {
    this.#isBusy = isBusy;
    if (!isBusy) for (const resolve of this.#resting.splice(0)) resolve();
  }

  end(end: End = DONE): void {
    this.busy(false);
    this.#end?.(end);
    this.#end = undefined;
  }
}

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) fs.rmSync(folder, { recursive: true });
});

function sessionFile(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "rpi-loops-"));
  folders.push(folder);
  return path.join(folder, "session.jsonl");
}

function make(file?: string, clock = new FakeClock()) {
  const host = new FakeHost();
  const events: LoopEvent[] = [];
  const loops = new LoopScheduler({ host, clock, emit: (event) => events.push(event), store: file === undefined ? undefined : new LoopStore(file) });
  /** What was told since the last look, without the tasks. */
  const told = () => events.splice(0).map((event) => ("task" in event ? `${event.type} ${event.task.id}` : "taskId" in event ? `${event.type} ${event.taskId}` : event.type));
  const later = (interval: string, prompt = "tick", more = {}) => loops.create({ interval, prompt, fireImmediately: false, ...more });
  return { loops, host, events, clock, told, later };
}

describe("an interval", () => {
  test("is digits with a unit, or seconds", () => {
    expect(["90", "45s", "2m", "3h", "1d", "007"].map(parseInterval)).toEqual([90, 45, 120, 10_800, 86_400, 7]);
  });

  test.each(["", "0", "0s", "-5", "5x", "m", "1.5h", "5 m", " 5m", "5M", "99999999999999999999d", "36501d", "1e3", "５"])("is not %p", (text) => {
    const { code, message } = refusalOf(() => parseInterval(text));
    expect([code, message]).toEqual(["invalid", expect.stringMatching(/^invalid interval: "/)]);
  });
});

describe("loops", () => {
  test("are made with all their times, told of and listed, and none fires before its time", async () => {
    const { loops, clock, events, host, later } = make();
    const task = later("5m");
    expect(task).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{12}$/) as never, interval: "5m", intervalSecs: 300, prompt: "tick", durable: false,
      createdAt: "2026-01-01T00:00:00.000Z", lastFiredAt: null, nextFireAt: "2026-01-01T00:05:00.000Z", expiresAt: "2026-01-08T00:00:00.000Z", runCount: 0,
    });
    expect([events, loops.list()]).toEqual([[{ type: "loop_created", task, restored: false }], [task]]);
    await clock.advance(299 * SECOND);
    expect(host.fired).toEqual([]);
    await clock.advance(SECOND);
    expect(host.fired).toHaveLength(1);
  });

  test("fire at once unless told otherwise, but not before the answer to who made them", async () => {
    const { loops, clock, events, host } = make();
    const task = loops.create({ interval: "1h", prompt: " do it " });
    expect(host.fired).toEqual([]);
    await clock.advance(0);
    expect(host.fired).toEqual([{ role: "custom", customType: "loop", content: " do it ", display: true, details: { taskId: task.id }, timestamp: START }]);
    await clock.advance(7 * SECOND);
    host.end();
    await turns();
    expect(events).toEqual([
      { type: "loop_created", task: { ...task, nextFireAt: "2026-01-01T00:00:00.000Z" }, restored: false },
      { type: "loop_fired", taskId: task.id, firedAt: "2026-01-01T00:00:00.000Z" },
      { type: "loop_finished", taskId: task.id, finishedAt: "2026-01-01T00:00:07.000Z" },
    ]);
    expect(loops.list()).toEqual([{ ...task, lastFiredAt: "2026-01-01T00:00:00.000Z", nextFireAt: "2026-01-01T01:00:00.000Z", runCount: 1 }]);
  });

  test("fire again and again, without drifting", async () => {
    const { clock, host, later } = make();
    later("10s");
    const at: number[] = [];
    for (let i = 0; i < 4; i += 1) {
      while (host.fired.length === i) await clock.advance(100);
      at.push(clock.time - START);
      await clock.advance(700);
      host.end();
    }
    expect(at).toEqual([10_000, 20_000, 30_000, 40_000]);
  });

  test("that are due wait until the agent rests, and whoever waited for that comes first", async () => {
    const { loops, clock, host, told } = make();
    host.busy(true);
    const { id } = loops.create({ interval: "1h", prompt: "tick" });
    await clock.advance(10 * SECOND);
    expect([told(), host.fired.length]).toEqual([[`loop_created ${id}`, `loop_queued ${id}`], 0]);
    host.busy(false);
    await turns();
    // A prompt that was waiting began.
    host.busy(true);
    await clock.advance(10 * SECOND);
    expect([told(), host.fired.length]).toEqual([[], 0]);
    host.busy(false);
    await clock.advance(0);
    expect([told(), host.fired.length]).toEqual([[`loop_fired ${id}`], 1]);
  });

  test("fire one at a time, in the order in which they fell due", async () => {
    const { loops, clock, host, events } = make();
    const [a, b, c] = ["3s", "2s", "1s"].map((interval) => loops.create({ interval, prompt: interval, fireImmediately: false }).id);
    clock.jump(5 * SECOND);
    await clock.advance(60 * SECOND);
    expect(events.filter((event) => event.type === "loop_queued")).toEqual([{ type: "loop_queued", taskId: b!, position: 1 }, { type: "loop_queued", taskId: a!, position: 2 }]);
    for (let i = 0; i < 3; i += 1) {
      host.end();
      await clock.advance(0);
    }
    expect(events.flatMap((event) => (event.type === "loop_fired" || event.type === "loop_finished" ? [`${event.type} ${event.taskId}`] : [])).slice(0, 6)).toEqual(
      [c, b, a].flatMap((id) => [`loop_fired ${id}`, `loop_finished ${id}`]),
    );
  });

  test("never pile up: what waits or runs is skipped when it falls due again", async () => {
    const { clock, host, events, later } = make();
    const { id } = later("10s");
    await clock.advance(35 * SECOND);
    const other = later("10s").id;
    await clock.advance(25 * SECOND);
    expect(host.fired).toHaveLength(1);
    const skipped = (taskId: string) => events.flatMap((event) => (event.type === "loop_skipped" && event.taskId === taskId ? [event.reason] : []));
    expect([skipped(id), skipped(other)]).toEqual([["already_running", "already_running", "already_running", "already_running", "already_running"], ["already_queued"]]);
    host.end();
    await clock.advance(0);
    expect(host.fired).toHaveLength(2);
    host.end();
    await clock.advance(4 * SECOND);
    expect(host.fired).toHaveLength(2);
  });

  test("stay when a firing is aborted, and those that wait keep their place", async () => {
    const { loops, clock, host, events } = make();
    const [a, b, c] = ["a", "b", "c"].map((prompt) => loops.create({ interval: "1h", prompt }).id);
    await clock.advance(0);
    host.end({ aborted: true, stopReason: "aborted" });
    await clock.advance(0);
    host.end();
    await clock.advance(0);
    expect(host.fired.map((message) => message.content)).toEqual(["a", "b", "c"]);
    expect(loops.list().map((task) => task.id)).toEqual([a!, b!, c!]);
    expect(events.filter((event) => event.type === "loop_failed")).toEqual([]);
  });

  test("tell why a firing failed, and go on", async () => {
    const { loops, clock, host, events } = make();
    const { id } = loops.create({ interval: "1h", prompt: "x" });
    await clock.advance(0);
    host.end({ aborted: false, stopReason: "error", errorMessage: "no such model" });
    await turns();
    host.refuses = new Refusal("unavailable", "no model");
    await clock.advance(HOUR);
    expect(events.filter((event) => event.type === "loop_failed")).toEqual([{ type: "loop_failed", taskId: id, error: "no such model" }, { type: "loop_failed", taskId: id, error: "no model" }]);
    expect(loops.list()[0]?.runCount).toBe(2);
  });

  test("are changed: the interval counts from the last firing, the prompt is also that of a firing that waits", async () => {
    const { loops, clock, host, events, later } = make();
    const { id } = later("10m");
    await clock.advance(4 * 60 * SECOND);
    const task = loops.update({ taskId: id, interval: "5m" });
    expect([task.interval, task.intervalSecs, task.nextFireAt]).toEqual(["5m", 300, "2026-01-01T00:05:00.000Z"]);
    expect(loops.update({ taskId: id, interval: "1m" }).nextFireAt).toBe("2026-01-01T00:05:00.000Z");
    host.busy(true);
    await clock.advance(2 * 60 * SECOND);
    expect(loops.update({ taskId: id, prompt: "other" })).toEqual({ ...loops.list()[0]!, prompt: "other" });
    host.busy(false);
    await clock.advance(0);
    expect(host.fired.map((message) => message.content)).toEqual(["other"]);
    expect(events.filter((event) => event.type === "loop_updated")).toHaveLength(3);
  });

  test("that were to fire at once still do after a change of interval", async () => {
    const { loops, clock, host } = make();
    const { id } = loops.create({ interval: "1h", prompt: "x" });
    loops.update({ taskId: id, interval: "2h" });
    await clock.advance(0);
    expect(host.fired).toHaveLength(1);
  });

  test("refuse with the words that clients know", () => {
    const { loops, later } = make();
    const { id } = later("1h");
    expect(refusalOf(() => later("1h", " \n"))).toEqual({ code: "invalid", message: "loop prompt cannot be empty" });
    expect(refusalOf(() => loops.update({ taskId: id }))).toEqual({ code: "invalid", message: "nothing to update; provide interval and/or prompt" });
    expect(refusalOf(() => loops.update({ taskId: "nowhere", prompt: "x" }))).toEqual({ code: "not_found", message: "no scheduled loop with id nowhere" });
    expect(refusalOf(() => loops.update({ taskId: id, prompt: "" })).message).toBe("loop prompt cannot be empty");
    expect(refusalOf(() => loops.update({ taskId: id, interval: "zero" })).message).toStartWith("invalid interval: ");
    expect(refusalOf(() => later("1h", "x", { durable: true })).code).toBe("unavailable");
    for (let i = 1; i < 50; i += 1) later("1h");
    expect(refusalOf(() => later("1h"))).toEqual({ code: "busy", message: "maximum of 50 scheduled tasks reached" });
    expect(loops.list()).toHaveLength(50);
  });

  test("are deleted without a word to a firing that goes on, and cancelled with an abort of it", async () => {
    const { loops, clock, host, events } = make();
    const first = loops.create({ interval: "1h", prompt: "first" }).id;
    const second = loops.create({ interval: "1h", prompt: "second" }).id;
    const third = loops.create({ interval: "1h", prompt: "third" }).id;
    await clock.advance(0);
    expect([loops.delete(first), loops.delete(first), loops.cancel(third), host.aborts]).toEqual([true, false, true, 0]);
    host.end();
    await clock.advance(0);
    expect([loops.cancel(second), loops.cancel(second), host.aborts]).toEqual([true, false, 1]);
    await clock.advance(DAY);
    expect(host.fired.map((message) => message.content)).toEqual(["first", "second"]);
    expect(events.filter((event) => event.type !== "loop_created" && event.type !== "loop_queued" && event.type !== "loop_fired")).toEqual([
      { type: "loop_removed", taskId: first, reason: "deleted" },
      { type: "loop_removed", taskId: third, reason: "cancelled" },
      { type: "loop_removed", taskId: second, reason: "cancelled" },
    ]);
  });

  test("expire after seven days, once a firing that is under way has ended", async () => {
    const { loops, clock, host, told, later } = make();
    const idle = later("30d").id;
    const firing = later("7d").id;
    told();
    clock.time = START + 7 * DAY - SECOND;
    loops.update({ taskId: firing, interval: "6d" });
    told();
    loops.create({ interval: "1h", prompt: "x", fireImmediately: false });
    told();
    await clock.advance(SECOND);
    expect(told()).toEqual([`loop_removed ${idle}`, `loop_removed ${firing}`]);
    const running = make();
    const { id } = running.loops.create({ interval: "1d", prompt: "x" });
    await running.clock.advance(0);
    running.told();
    await running.clock.advance(7 * DAY + SECOND);
    expect(running.told().filter((event) => !event.startsWith("loop_skipped"))).toEqual([]);
    running.host.end();
    await running.clock.advance(0);
    expect(running.told()).toEqual([`loop_finished ${id}`, `loop_removed ${id}`]);
    expect(host.fired).toEqual([]);
  });

  test("fire once however far the clock jumps forward, and wait no longer than an interval when it jumps back", async () => {
    const { clock, host, loops, later } = make();
    later("1h");
    clock.jump(10 * HOUR);
    await clock.advance(61 * SECOND);
    expect(host.fired).toHaveLength(1);
    host.end();
    await clock.advance(59 * 60 * SECOND - 120 * SECOND);
    expect(host.fired).toHaveLength(1);
    clock.jump(-2 * DAY);
    await clock.advance(61 * SECOND);
    expect(Date.parse(loops.list()[0]!.nextFireAt) - clock.time).toBeLessThanOrEqual(HOUR);
    await clock.advance(HOUR);
    expect(host.fired).toHaveLength(2);
  });

  test("do not fire once paused, and are told of when all ends", async () => {
    const { loops, clock, host, events, later } = make();
    const { id } = later("1s");
    loops.pause();
    await clock.advance(HOUR);
    expect([host.fired, clock.pending]).toEqual([[], 0]);
    loops.close("session_changed");
    loops.close("shutdown");
    expect(events.slice(1)).toEqual([{ type: "loop_removed", taskId: id, reason: "session_changed" }]);
    expect(loops.list()).toEqual([]);
  });

  test("say nothing more after the end, though a firing is still under way", async () => {
    const { loops, clock, host, told } = make();
    loops.create({ interval: "1s", prompt: "x" });
    loops.create({ interval: "1s", prompt: "y" });
    await clock.advance(0);
    loops.close("shutdown");
    told();
    host.end();
    await clock.advance(HOUR);
    expect([told(), host.fired.length, clock.pending]).toEqual([[], 1, 0]);
  });

  test("never run two at a time nor lose one, whatever happens when", async () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const random = new Random(seed);
      const { loops, clock, host, events } = make();
      for (let step = 0; step < 60; step += 1) {
        const ids = loops.list().map((task) => task.id);
        const act = random.below(8);
        if (act < 2) loops.create({ interval: `${1 + random.below(20)}s`, prompt: "x", fireImmediately: random.chance(0.5) });
        else if (act === 2 && ids.length) loops.delete(random.pick(ids));
        else if (act === 3 && ids.length) loops.cancel(random.pick(ids));
        else if (act === 4) host.busy(true);
        else if (act === 5 && !host.isIdle()) host.end(random.pick([DONE, { aborted: true, stopReason: "aborted" }, { aborted: false, stopReason: "error" }]));
        else if (act === 6) clock.jump(random.below(60_000) - 20_000);
        await clock.advance(random.below(8000));
      }
      const firing = new Set<string>();
      for (const event of events) {
        if (event.type === "loop_fired") {
          expect([...firing], `seed ${seed}: nothing else is firing`).toEqual([]);
          firing.add(event.taskId);
        } else if ("taskId" in event && (event.type === "loop_finished" || event.type === "loop_failed")) {
          expect(firing.delete(event.taskId), `seed ${seed}: it had begun`).toBe(true);
        } else if (event.type === "loop_removed") firing.delete(event.taskId);
      }
      host.end();
      // Left alone, each that is there fires.
      const before = new Map(loops.list().map((task) => [task.id, task.runCount]));
      for (let i = 0; i < 400; i += 1) {
        await clock.advance(1000);
        if (!host.isIdle()) host.end();
      }
      for (const task of loops.list()) expect(task.runCount, `seed ${seed}`).toBeGreaterThan(before.get(task.id)!);
    }
  });

  test("keep no process alive", async () => {
    const child = Bun.spawn({
      cmd: [process.execPath, "-e", `import { LoopScheduler } from ${JSON.stringify(path.resolve(import.meta.dir, "../../src/agent/loops.ts"))};
        const host = { isIdle: () => true, whenIdle: async () => {}, fire: async () => ({ aborted: false, stopReason: "stop" }), abort() {} };
        new LoopScheduler({ host, emit() {} }).create({ interval: "1h", prompt: "x", fireImmediately: false });`],
      stdout: "ignore",
      stderr: "inherit",
    });
    expect(await child.exited).toBe(0);
  });

  test("run on the clock of the system", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const host = { isIdle: () => true, whenIdle: async () => {}, fire: async () => DONE, abort() {} };
    const loops = new LoopScheduler({ host, clock: systemClock, emit: (event) => event.type === "loop_finished" && resolve() });
    loops.create({ interval: "1h", prompt: "x" });
    await promise;
    loops.close("shutdown");
  });
});

describe("durable loops", () => {
  test("come back with their session, the others do not", async () => {
    const file = sessionFile();
    const first = make(file);
    const kept = first.later("1h", "kept", { durable: true });
    first.later("1h", "lost");
    first.loops.close("shutdown");
    expect(fs.statSync(`${file}.loops.json`).mode & 0o777).toBe(0o600);
    expect(fs.existsSync(loopsFile(file))).toBe(true);

    const again = make(file, first.clock);
    again.loops.restore();
    expect([again.events, again.loops.list()]).toEqual([[{ type: "loop_created", task: kept, restored: true }], [kept]]);
    await again.clock.advance(HOUR);
    again.host.end();
    await turns();
    const fired = again.loops.list()[0]!;
    expect([fired.runCount, fired.lastFiredAt]).toEqual([1, "2026-01-01T01:00:00.000Z"]);
    const third = make(file, first.clock);
    third.loops.restore();
    expect(third.loops.list()).toEqual([fired]);
  });

  test("that fell due meanwhile fire once, after whoever resumes had time to speak", async () => {
    const file = sessionFile();
    const first = make(file);
    first.later("1m", "x", { durable: true });
    first.loops.close("shutdown");
    first.clock.time += 5 * HOUR;
    const again = make(file, first.clock);
    again.loops.restore();
    await again.clock.advance(SECOND);
    expect(again.host.fired).toEqual([]);
    await again.clock.advance(2 * SECOND);
    again.host.end();
    await again.clock.advance(50 * SECOND);
    expect(again.host.fired).toHaveLength(1);
  });

  test("that expired meanwhile are told of and forgotten, and the file goes with the last", () => {
    const file = sessionFile();
    const first = make(file);
    const { id } = first.later("1h", "x", { durable: true });
    const clock = new FakeClock();
    clock.time += 8 * DAY;
    const again = make(file, clock);
    again.loops.restore();
    expect([again.events, again.loops.list(), fs.existsSync(loopsFile(file))]).toEqual([[{ type: "loop_removed", taskId: id, reason: "expired" }], [], false]);
  });

  test("leave no file when they are deleted, nor any other file", () => {
    const file = sessionFile();
    const { loops, later } = make(file);
    const { id } = later("1h", "x", { durable: true });
    expect(fs.readdirSync(path.dirname(file))).toEqual(["session.jsonl.loops.json"]);
    loops.delete(id);
    expect(fs.readdirSync(path.dirname(file))).toEqual([]);
  });

  test.each([["not JSON", "{"], ["another version", '{"version":2,"tasks":[]}'], ["no list", '{"version":1}'], ["null", "null"], ["binary", "\0\xff\xfe"]])("in a file that is %s are set aside with a notice", (_what, text) => {
    const file = sessionFile();
    fs.writeFileSync(`${file}.loops.json`, text);
    const { loops, events, later } = make(file);
    loops.restore();
    expect(events).toEqual([{ type: "notice", level: "warning", code: "loops_damaged", message: expect.stringContaining("damaged-") as never }]);
    const [aside] = fs.readdirSync(path.dirname(file));
    expect(fs.readFileSync(path.join(path.dirname(file), aside!), "utf8")).toBe(text);
    later("1h", "x", { durable: true });
    expect(fs.existsSync(loopsFile(file))).toBe(true);
  });

  test("that cannot be read are left out with a notice, the others come back", () => {
    const file = sessionFile();
    const first = make(file);
    const kept = first.later("1h", "kept", { durable: true });
    const state = JSON.parse(fs.readFileSync(`${file}.loops.json`, "utf8"));
    const bad = [null, 5, {}, { ...kept, id: 5 }, { ...kept, id: "a", interval: "soon" }, { ...kept, id: "b", nextFireAt: "never" }, { ...kept, id: "c", prompt: " " }, { ...kept }];
    fs.writeFileSync(`${file}.loops.json`, JSON.stringify({ ...state, tasks: [...state.tasks, ...bad] }));
    const again = make(file);
    again.loops.restore();
    expect(again.loops.list()).toEqual([kept]);
    expect(again.events[0]).toEqual({ type: "notice", level: "warning", code: "loops_damaged", message: expect.stringContaining("8 of the 9 loops") as never });
  });

  test("that cannot be stored are not made, changed or taken away", () => {
    const file = sessionFile();
    const { loops, events, later } = make(file);
    const kept = later("1h", "kept", { durable: true });
    // A folder where the temporary file would be: it cannot be written.
    fs.mkdirSync(`${file}.loops.json.${process.pid}.tmp`);
    const refused = { code: "unavailable", message: expect.stringMatching(/^the loops could not be stored: /) };
    expect(refusalOf(() => later("1h", "x", { durable: true }))).toEqual(refused as never);
    expect(refusalOf(() => loops.update({ taskId: kept.id, prompt: "other", interval: "2h" }))).toEqual(refused as never);
    expect([loops.list(), events]).toEqual([[kept], [{ type: "loop_created", task: kept, restored: false }]]);
    expect(later("1h", "not durable").durable).toBe(false);
  });
});
