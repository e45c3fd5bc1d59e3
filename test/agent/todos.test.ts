import { describe, expect, test } from "bun:test";
import { z } from "zod";
import { todoOpFields } from "../../src/agent/todo-fields.ts";
import type { Plan, TodoTask } from "../../src/agent/todo-graph.ts";
import { setTodos, todoOp, TodoList, type TodoEvent, type TodoState } from "../../src/agent/todos.ts";
import { Refusal } from "../../src/base/refusal.ts";
import { Random } from "../support/random.ts";
import { refusalOf } from "../support/refusal.ts";

type Draft = Parameters<typeof setTodos>[1];
type DraftTask = Draft[number]["tasks"][number];

const task = (content: string, more: Partial<DraftTask> = {}): DraftTask => ({ content, status: "pending", ...more });
const phase = (name: string, ...tasks: (string | DraftTask)[]): Draft[number] => ({ name, tasks: tasks.map((one) => (typeof one === "string" ? task(one) : one)) });
const plan = (...phases: Draft): Plan => setTodos([], phases).phases;
const all = (phases: Plan): TodoTask[] => phases.flatMap((one) => one.tasks);
const statuses = (phases: Plan) => Object.fromEntries(all(phases).map((one) => [one.content, one.status]));

/** c waits for b, b for a. */
const CHAIN = [phase("Build", task("a", { id: "t-a" }), task("b", { id: "t-b", dependsOn: ["t-a"] }), task("c", { id: "t-c", dependsOn: ["t-b"] }))];

describe("a whole plan", () => {
  test("comes back with ids, readiness and blockers computed, and the first ready task begun", () => {
    expect(setTodos([], CHAIN)).toEqual({
      phases: [
        {
          name: "Build",
          tasks: [
            { id: "t-a", content: "a", status: "in_progress", dependsOn: [], ready: true, blockedBy: [] },
            { id: "t-b", content: "b", status: "pending", dependsOn: ["t-a"], ready: false, blockedBy: [{ taskId: "t-a", content: "a", status: "in_progress" }] },
            { id: "t-c", content: "c", status: "pending", dependsOn: ["t-b"], ready: false, blockedBy: [{ taskId: "t-b", content: "b", status: "pending" }] },
          ],
        },
      ],
      completedTasks: [],
      summary: '0 of 3 tasks closed, 3 open.\n\nBuild:\n  [>] a (in progress)\n  [ ] b (waits for "a")\n  [ ] c (waits for "b")',
    });
  });

  test("gets the same ids each time, and they are those that were always given", () => {
    const outline = [phase("One", "first", "second"), phase("Two", "third")];
    const ids = all(plan(...outline)).map((one) => one.id);
    expect(ids).toEqual(["task-72c7ff2d2ce02c144ccc", "task-f964255ded7ae1b2bd59", "task-38c8c554c98732e3c021"]);
    expect(all(plan(...outline)).map((one) => one.id)).toEqual(ids);
  });

  test("gives another id where a task already has the one that would be given", () => {
    const [{ id }] = all(plan(phase("P", "x"))) as [TodoTask];
    const ids = all(plan(phase("P", task("y", { id }), "x"))).map((one) => one.id);
    expect(new Set(ids).size).toBe(2);
  });

  test("names every fault at once and changes nothing", () => {
    const before = plan(...CHAIN);
    const copy = structuredClone(before);
    const { code, message } = refusalOf(() => setTodos(before, [phase(" P ", "x", "x"), phase(" P ", task("", { id: "i" }), task("z", { id: "i", agent: " " }))]));
    expect(code).toBe("invalid");
    expect(message).toBe(
      'Errors: the phase name " P " must not begin or end with blanks; duplicate task "x"; the phase name " P " must not begin or end with blanks; duplicate phase " P "; ' +
        'task content must not be empty; duplicate task id "i"; agent name must not be empty',
    );
    expect(before).toEqual(copy);
  });

  test.each([
    ["on what is not there", [task("x", { dependsOn: ["nowhere"] })], 'Errors: task "x" depends on "nowhere", which is not in the plan'],
    ["twice on one", [task("y", { id: "y" }), task("x", { dependsOn: ["y", "y"] })], 'Errors: task "x" names the dependency "y" twice'],
    ["on itself", [task("x", { id: "i", dependsOn: ["i"] })], 'Errors: task "x" depends on itself'],
    [
      "in a circle",
      [task("w", { dependsOn: ["x"] }), task("x", { id: "x", dependsOn: ["y"] }), task("y", { id: "y", dependsOn: ["z"] }), task("z", { id: "z", dependsOn: ["x"] })],
      'Errors: the dependencies form a cycle: "x" → "y" → "z" → "x"',
    ],
  ])("is refused when a task depends %s", (_name, tasks, message) => {
    expect(refusalOf(() => plan(phase("P", ...tasks)))).toEqual({ code: "invalid", message });
  });

  test("may name dependencies by content, which become ids", () => {
    const [a, b] = all(plan(phase("P", "a", task("b", { dependsOn: ["a"] })))) as [TodoTask, TodoTask];
    expect(b.dependsOn).toEqual([a.id]);
  });

  test("makes work that is not ready fall back, and lets an abandoned task block nobody", () => {
    expect(statuses(plan(phase("P", task("a", { id: "a" }), task("b", { status: "in_progress", dependsOn: ["a"] }))))).toEqual({ a: "in_progress", b: "pending" });
    expect(statuses(plan(phase("P", task("a", { id: "a", status: "abandoned" }), task("b", { dependsOn: ["a"] }))))).toEqual({ a: "abandoned", b: "in_progress" });
  });

  test("tells as completed only what was in the plan before and open", () => {
    const before = plan(phase("P", task("a", { id: "old" }), task("b", { status: "completed" })));
    const after = setTodos(before, [phase("P", task("a", { status: "completed" }), task("b", { status: "completed" }), task("c", { status: "completed" }))]);
    expect(after.completedTasks).toEqual([{ phase: "P", content: "a" }]);
  });

  test("holds a chain of ten thousand tasks", () => {
    const tasks = Array.from({ length: 10_000 }, (_, i) => task(`t${i}`, { id: `i${i}`, dependsOn: i ? [`i${i - 1}`] : [] }));
    expect(all(plan(phase("P", ...tasks.reverse()))).filter((one) => one.ready).map((one) => one.content)).toEqual(["t0"]);
  });
});

describe("an operation", () => {
  test("done completes by id or content, and the next begins", () => {
    const first = todoOp(plan(...CHAIN), { op: "done", task: "t-a" });
    expect([first.completedTasks, statuses(first.phases)]).toEqual([[{ phase: "Build", content: "a" }], { a: "completed", b: "in_progress", c: "pending" }]);
    const second = todoOp(first.phases, { op: "done", task: "b" });
    expect([second.completedTasks, statuses(second.phases)]).toEqual([[{ phase: "Build", content: "b" }], { a: "completed", b: "completed", c: "in_progress" }]);
    const third = todoOp(second.phases, { op: "drop", task: "c" });
    expect([third.completedTasks, statuses(third.phases)]).toEqual([[], { a: "completed", b: "completed", c: "abandoned" }]);
  });

  test("done and drop without a task mean what is open in the phase, or in all", () => {
    const before = plan(phase("One", "a", task("x", { status: "abandoned" })), phase("Two", "b"));
    expect(statuses(todoOp(before, { op: "done", phase: "One" }).phases)).toEqual({ a: "completed", x: "abandoned", b: "in_progress" });
    const done = todoOp(before, { op: "done" });
    expect(statuses(done.phases)).toEqual({ a: "completed", x: "abandoned", b: "completed" });
    expect(statuses(todoOp(done.phases, { op: "drop" }).phases)).toEqual({ a: "completed", x: "abandoned", b: "completed" });
  });

  test("start refuses a blocked task and names what blocks it; of a group it begins what is ready", () => {
    const before = plan(...CHAIN, phase("Other", "d"));
    expect(refusalOf(() => todoOp(before, { op: "start", task: "c" }))).toEqual({ code: "invalid", message: 'Errors: task "c" cannot start: it is blocked by "b" (t-b, pending)' });
    expect(statuses(todoOp(before, { op: "start" }).phases)).toEqual({ a: "in_progress", b: "pending", c: "pending", d: "in_progress" });
    expect(refusalOf(() => todoOp(before, { op: "start", phase: "Build" })).message).toContain("cannot start");
  });

  test("start opens a closed task again, and what waits for it falls back", () => {
    const done = todoOp(plan(...CHAIN), { op: "done", task: "a" }).phases;
    expect(statuses(todoOp(done, { op: "start", task: "a" }).phases)).toEqual({ a: "in_progress", b: "pending", c: "pending" });
  });

  test("names what is not there", () => {
    const before = plan(...CHAIN, phase("Other", "d"));
    expect(refusalOf(() => todoOp(before, { op: "done", task: "nowhere" }))).toEqual({ code: "not_found", message: 'Errors: task "nowhere" not found' });
    expect(refusalOf(() => todoOp(before, { op: "done", task: "d", phase: "Build" }))).toEqual({ code: "not_found", message: 'Errors: task "d" not found in phase "Build"' });
    expect(refusalOf(() => todoOp(before, { op: "rm", phase: "None" }))).toEqual({ code: "not_found", message: 'Errors: phase "None" not found' });
    expect(refusalOf(() => todoOp([], { op: "done", task: "x" })).message).toBe('Errors: task "x" not found (there is no plan yet)');
  });

  test("init makes a plan of items or of a list, with agents", () => {
    expect(todoOp([], { op: "init", items: ["a", "b"] }).phases.map((one) => one.name)).toEqual(["Tasks"]);
    expect(todoOp([], { op: "init", items: ["a"], phase: "Named" }).phases.map((one) => one.name)).toEqual(["Named"]);
    const { phases } = todoOp(plan(...CHAIN), { op: "init", list: [{ phase: "One", items: ["a", "b"], agents: [null, "worker"] }, { phase: "Two", items: ["c"] }] });
    expect(phases.map((one) => [one.name, one.tasks.map((each) => [each.content, each.agent])])).toEqual([["One", [["a", undefined], ["b", "worker"]]], ["Two", [["c", undefined]]]]);
    expect(refusalOf(() => todoOp([], { op: "init", list: [{ phase: "P", items: [] }, { phase: "Q", items: ["x"], agents: ["a", "b"] }] })).message).toBe(
      'Errors: phase "P" has no items; phase "Q" has more agents than items',
    );
  });

  test("an identical init keeps ids, dependencies and statuses; another one begins anew", () => {
    const before = todoOp(plan(...CHAIN), { op: "done", task: "a" }).phases;
    expect(todoOp(before, { op: "init", list: [{ phase: "Build", items: ["a", "b", "c"] }] })).toMatchObject({ phases: before, completedTasks: [] });
    expect(statuses(todoOp(before, { op: "init", list: [{ phase: "Build", items: ["a", "z"] }] }).phases)).toEqual({ a: "in_progress", z: "pending" });
    expect(statuses(todoOp(before, { op: "init", list: [{ phase: "Build", items: ["a", "b", "c"], agents: ["x"] }] }).phases)).toEqual({ a: "in_progress", b: "pending", c: "pending" });
  });

  test("append adds to a phase or makes it, and refuses what is there", () => {
    const one = todoOp(plan(phase("One", "a")), { op: "append", phase: "One", items: ["b"] }).phases;
    const two = todoOp(one, { op: "append", phase: "Two", items: ["c", "d"] }).phases;
    expect(two.map((each) => [each.name, each.tasks.map((t) => t.content)])).toEqual([["One", ["a", "b"]], ["Two", ["c", "d"]]]);
    expect(refusalOf(() => todoOp(two, { op: "append", phase: "One", items: ["c", "e", "e"] })).message).toBe('Errors: task "c" is in the plan already');
    expect(refusalOf(() => todoOp(two, { op: "append", phase: "One", items: ["e", "e"] })).message).toBe('Errors: duplicate task "e"');
  });

  test("dependencies are added, replaced and taken away", () => {
    const before = plan(phase("P", task("a", { id: "a" }), task("b", { id: "b" }), task("c", { id: "c" })));
    const of = (phases: Plan) => all(phases).find((one) => one.content === "c")?.dependsOn;
    const added = todoOp(before, { op: "add_dependency", task: "c", dependsOn: ["a"] }).phases;
    expect(of(added)).toEqual(["a"]);
    const replaced = todoOp(added, { op: "update_dependencies", task: "c", dependsOn: ["b", "a"] }).phases;
    expect(of(replaced)).toEqual(["b", "a"]);
    expect(of(todoOp(replaced, { op: "remove_dependency", task: "c", dependsOn: ["b"] }).phases)).toEqual(["a"]);
    expect(of(todoOp(replaced, { op: "update_dependencies", task: "c", dependsOn: [] }).phases)).toEqual([]);
    expect(refusalOf(() => todoOp(replaced, { op: "add_dependency", task: "c", dependsOn: ["a"] })).message).toBe('Errors: task "c" names the dependency "a" twice');
    expect(refusalOf(() => todoOp(replaced, { op: "add_dependency", task: "a", dependsOn: ["c"] })).message).toBe('Errors: the dependencies form a cycle: "a" → "c" → "a"');
    expect(refusalOf(() => todoOp(replaced, { op: "remove_dependency", task: "a", dependsOn: ["c"] }))).toEqual({ code: "not_found", message: 'Errors: task "a" does not depend on "c"' });
    expect(refusalOf(() => todoOp(replaced, { op: "add_dependency", task: "a", dependsOn: ["missing"] }))).toEqual({ code: "not_found", message: 'Errors: task "missing" not found' });
  });

  test("rm asks for cascade when others depend, and then takes them along", () => {
    const before = plan(...CHAIN, phase("Other", task("d", { dependsOn: ["t-c"] }), "e"));
    expect(refusalOf(() => todoOp(before, { op: "rm", task: "a" })).message).toBe(
      'Errors: task "b" (t-b) depends on what is to be removed; take that dependency away first, or remove with cascade',
    );
    expect(refusalOf(() => todoOp(before, { op: "rm", phase: "Build" })).message).toContain('task "d"');
    expect(todoOp(before, { op: "rm", task: "a", cascade: true }).phases.map((one) => [one.name, one.tasks.map((each) => each.content)])).toEqual([["Build", []], ["Other", ["e"]]]);
    expect(todoOp(before, { op: "rm", phase: "Build", cascade: true }).phases.map((one) => one.name)).toEqual(["Other"]);
    expect(todoOp(before, { op: "rm" })).toEqual({ phases: [], completedTasks: [], summary: "The todo list is empty." });
  });

  test("fields that an operation needs are missed by name", () => {
    const faults = (fields: unknown) => todoOpFields(z).safeParse(fields).error?.issues.map((one) => [one.path.join("."), one.message]);
    expect(faults({ op: "append" })).toEqual([["phase", "is required by append"], ["items", "is required by append"]]);
    expect(faults({ op: "add_dependency", task: "a" })).toEqual([["dependsOn", "is required by add_dependency"]]);
    expect(faults({ op: "init" })).toEqual([["list", "init needs list, or items and perhaps phase"]]);
    expect(faults({ op: "explode" })?.[0]?.[0]).toBe("op");
    expect(faults({ op: "done", task: "" })?.[0]?.[0]).toBe("task");
    expect(faults({ op: "view" })).toBeUndefined();
  });
});

test("any sequence of operations keeps the plan sound, and a refused one changes nothing", () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const random = new Random(seed);
    let now: Plan = [];
    for (let step = 0; step < 60; step += 1) {
      try {
        now = randomStep(now, random);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        expect(error.message, `seed ${seed} step ${step}`).toStartWith("Errors: ");
      }
      checkSound(now, `seed ${seed} step ${step}`);
    }
  }
});

function randomStep(now: Plan, random: Random): Plan {
  const before = structuredClone(now);
  const contents = ["a", "b", "c", "d", "e", "f", "g", " padded"];
  const names = ["One", "Two", "Three"];
  const known = all(now);
  const someTask = () => (known.length > 0 && random.chance(0.8) ? random.pick([random.pick(known).id, random.pick(known).content]) : random.pick(contents));
  const target = () => ({ ...(random.chance(0.7) ? { task: someTask() } : {}), ...(random.chance(0.2) ? { phase: random.pick(names) } : {}) });
  const make: (() => Plan)[] = [
    () => setTodos(now, names.slice(0, 1 + random.below(3)).map((name) => phase(name, ...random.some(contents, 0.2).map((one) => task(one, { status: random.pick(["pending", "in_progress", "completed", "abandoned"]), dependsOn: random.some(contents, 0.15) }))))).phases,
    () => todoOp(now, { op: "init", list: random.some(names, 0.7).map((name) => ({ phase: name, items: random.some(contents, 0.2) })) }).phases,
    () => todoOp(now, { op: "append", phase: random.pick(names), items: random.some(contents, 0.2) }).phases,
    ...(["start", "done", "drop"] as const).map((op) => () => todoOp(now, { op, ...target() }).phases),
    () => todoOp(now, { op: "rm", ...target(), cascade: random.chance(0.5) }).phases,
    ...(["add_dependency", "remove_dependency", "update_dependencies"] as const).map((op) => () => todoOp(now, { op, task: someTask(), dependsOn: Array.from({ length: random.below(3) }, someTask) }).phases),
  ];
  try {
    return random.pick(make)();
  } finally {
    expect(now, "the plan before").toEqual(before);
  }
}

function checkSound(now: Plan, where: string): void {
  const tasks = all(now);
  const byId = new Map(tasks.map((one) => [one.id, one]));
  expect(byId.size, `${where}: unique ids`).toBe(tasks.length);
  const rank = new Map<string, number>();
  for (let changed = true; changed; ) {
    changed = false;
    for (const one of tasks) {
      if (!rank.has(one.id) && one.dependsOn.every((id) => rank.has(id))) changed = Boolean(rank.set(one.id, rank.size));
    }
  }
  expect(rank.size, `${where}: no cycle`).toBe(tasks.length);
  const open = (one: TodoTask) => one.status === "pending" || one.status === "in_progress";
  for (const one of tasks) {
    const blockers = one.dependsOn.map((id) => byId.get(id)!).filter(open);
    expect(one.blockedBy, where).toEqual(blockers.map(({ id, content, status }) => ({ taskId: id, content, status })));
    expect(one.ready, where).toBe(open(one) && blockers.length === 0);
    if (one.status === "in_progress") expect(one.ready, where).toBe(true);
  }
  if (tasks.some((one) => one.ready)) expect(tasks.some((one) => one.status === "in_progress"), `${where}: something is in progress`).toBe(true);
}

describe("the list of a session", () => {
  const list = (store: (state: TodoState) => void = () => {}) => {
    const told: (TodoEvent | TodoState)[] = [];
    const made = new TodoList({
      store: (state) => {
        store(state);
        told.push(state);
      },
      emit: (event) => told.push(event),
    });
    return { made, told };
  };

  test("stores, then tells, then answers; a view is told and not stored", () => {
    const { made, told } = list();
    const { phases } = made.set(CHAIN);
    expect(told).toEqual([{ phases }, { type: "todo_updated", phases, completedTasks: [] }]);
    made.op({ op: "view" });
    expect(told.slice(2)).toEqual([{ type: "todo_updated", phases, completedTasks: [] }]);
    expect(made.phases).toEqual(phases);
  });

  test("keeps the old plan when the new one cannot be stored", () => {
    let full = false;
    const { made, told } = list(() => {
      if (full) throw new Error("disk full");
    });
    const { phases } = made.set(CHAIN);
    full = true;
    expect(() => made.op({ op: "done" })).toThrow("disk full");
    expect(made.phases).toEqual(phases);
    expect(told).toHaveLength(2);
  });

  test("comes back from what was stored, as JSON, and is empty after garbage", async () => {
    const first = list();
    first.made.set(CHAIN);
    first.made.op({ op: "done", task: "a" });
    const again = list();
    expect(await again.made.restore(JSON.parse(JSON.stringify(first.told.at(-2))))).toBe(true);
    expect(again.made.phases).toEqual(first.made.phases);
    expect(again.told).toEqual([]);
    for (const garbage of [5, "x", [], {}, { phases: 1 }, { phases: [{ name: 1, tasks: [] }] }, { phases: [phase("P", "x", "x")] }]) {
      expect(await again.made.restore(garbage)).toBe(false);
      expect(again.made.phases).toEqual([]);
    }
    expect(await again.made.restore(undefined)).toBe(true);
  });
});
