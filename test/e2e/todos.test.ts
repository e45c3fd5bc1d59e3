import { expect, test } from "bun:test";
import { type FauxStep, type Rpi, start } from "../support/rpi.ts";
import { Sandbox } from "../support/sandbox.ts";

const task = (id: string, dependsOn: string[] = [], status = "pending") => ({ id, content: `do ${id}`, status, dependsOn });
/** Two roots and a join. */
const PLAN = [{ name: "Build", tasks: [task("left"), task("right"), task("join", ["left", "right"])] }];

interface Shown { id: string; status: string; ready: boolean; blockedBy: { taskId: string }[] }
const shown = (phases: { tasks: Shown[] }[]) => phases.flatMap(({ tasks }) => tasks.map(({ id, status, ready, blockedBy }) => [id, status, ready, ...blockedBy.map(({ taskId }) => taskId)]));
const plan = async (rpi: Rpi) => shown((await rpi.ok("get_state")).todoPhases);

const BEGUN = [["left", "in_progress", true], ["right", "pending", true], ["join", "pending", false, "left", "right"]];

test("a plan is computed, told before the answer, and goes on task by task to its end", async () => {
  await using rpi = await start();
  const answer = await rpi.ask("set_todos", { phases: PLAN });
  expect(shown(answer["data"].phases)).toEqual(BEGUN);
  expect(answer["data"]).toEqual({ phases: (await rpi.ok("get_state")).todoPhases, completedTasks: [], summary: expect.stringContaining("0 of 3 tasks closed") });
  const told = rpi.events("todo_updated");
  expect(told).toEqual([{ type: "todo_updated", phases: answer["data"].phases, completedTasks: [] }]);
  expect(rpi.records.indexOf(told[0]!)).toBeLessThan(rpi.records.indexOf(answer));

  expect(await rpi.refused("todo_op", { op: "start", task: "join" })).toEqual({ code: "invalid", error: expect.stringMatching(/^Errors: .*"do join".*"do left".*"do right"/) });
  const steps: unknown[] = [];
  for (const id of ["left", "right", "join"]) {
    const { phases, completedTasks } = await rpi.ok("todo_op", { op: "done", task: id });
    steps.push([completedTasks, shown(phases).filter(([, status]) => status === "in_progress").map(([name]) => name)]);
  }
  const done = (id: string) => [{ phase: "Build", content: `do ${id}` }];
  expect(steps).toEqual([[done("left"), ["right"]], [done("right"), ["join"]], [done("join"), []]]);
});

test("every operation does what it says, and tells of it once", async () => {
  await using rpi = await start();
  const op = async (fields: object) => shown((await rpi.ok("todo_op", fields)).phases).map(([id, status, , ...by]) => [`${id}`.startsWith("task-") ? "new" : id, status, ...by].join(" "));
  await rpi.ok("set_todos", { phases: PLAN });
  expect(await op({ op: "start", task: "do right" })).toEqual(["left in_progress", "right in_progress", "join pending left right"]);
  expect(await op({ op: "drop", task: "left" })).toEqual(["left abandoned", "right in_progress", "join pending right"]);
  expect(await op({ op: "append", phase: "Ship", items: ["tag"] })).toEqual(["left abandoned", "right in_progress", "join pending right", "new pending"]);
  expect(await op({ op: "add_dependency", task: "tag", dependsOn: ["join"] })).toEqual(["left abandoned", "right in_progress", "join pending right", "new pending join"]);
  expect(await op({ op: "update_dependencies", task: "tag", dependsOn: ["right", "join"] })).toEqual(["left abandoned", "right in_progress", "join pending right", "new pending right join"]);
  expect(await op({ op: "remove_dependency", task: "tag", dependsOn: ["join"] })).toEqual(["left abandoned", "right in_progress", "join pending right", "new pending right"]);
  expect((await rpi.refused("todo_op", { op: "rm", task: "right" })).error).toMatch(/"do join".*"tag"/);
  expect(await op({ op: "view" })).toEqual(["left abandoned", "right in_progress", "join pending right", "new pending right"]);
  expect(await op({ op: "rm", task: "right", cascade: true })).toEqual(["left abandoned"]);
  expect(await op({ op: "init", list: [{ phase: "One", items: ["a", "b"], agents: ["scout"] }, { phase: "Two", items: ["c"] }] })).toEqual(["new in_progress", "new pending", "new pending"]);
  expect(await op({ op: "done", phase: "One" })).toEqual(["new completed", "new completed", "new in_progress"]);
  const before = (await rpi.ok("get_state")).todoPhases;
  expect((await rpi.ok("todo_op", { op: "init", list: [{ phase: "One", items: ["a", "b"] }, { phase: "Two", items: ["c"] }] })).phases).toEqual(before);
  expect(await op({ op: "rm" })).toEqual([]);
  const answered = rpi.records.filter(({ type, ...record }) => type === "response" && record["success"] && ["set_todos", "todo_op"].includes(record["command"]));
  expect(rpi.events("todo_updated").length).toBe(answered.length);
});

test("what is wrong is told all at once, and changes nothing", async () => {
  await using rpi = await start();
  await rpi.ok("set_todos", { phases: PLAN });
  const from = rpi.mark();
  const bad = [{ name: " A", tasks: [task("x"), task("x"), { content: "", status: "pending" }, task("y", ["none"]), task("z", ["z"])] }, { name: "", tasks: [] }];
  const { code, error } = await rpi.refused("set_todos", { phases: bad });
  expect(code).toBe("invalid");
  expect(error.replace(/^Errors: /, "").split("; ").length).toBe(7);
  for (const fields of [{ phases: [{ name: "A", tasks: [task("x", ["y"]), task("y", ["x"])] }] }, { phases: [{ name: "A", tasks: [task("x", ["y", "y"]), task("y")] }] }]) {
    expect((await rpi.refused("set_todos", fields)).error).toStartWith("Errors: ");
  }
  expect((await rpi.refused("set_todos", { phases: [{ name: "A", tasks: [{ content: "x" }] }] })).error).toStartWith("Invalid command: phases[0].tasks[0].status: ");
  expect((await rpi.refused("todo_op", { op: "done", task: "nobody" })).code).toBe("not_found");
  expect((await rpi.refused("todo_op", { op: "add_dependency", task: "left", dependsOn: ["join"] })).error).toContain("cycle");
  expect((await rpi.refused("todo_op", { op: "dance" })).error).toStartWith("Invalid command: op: ");
  expect([await plan(rpi), rpi.events("todo_updated", from)]).toEqual([BEGUN, []]);
});

test("a plan is kept before its answer, and comes back after a kill -9, in a fork, a clone and a switch, not in a new session", async () => {
  using sandbox = new Sandbox();
  {
    await using rpi = await start({ sandbox });
    await rpi.ok("set_todos", { phases: PLAN });
    rpi.signal("SIGKILL");
    await rpi.exit();
  }
  await using rpi = await start({ sandbox, args: ["--continue"] });
  expect(await plan(rpi)).toEqual(BEGUN);
  const { sessionFile } = await rpi.ok("get_state");
  await rpi.run("one");
  await rpi.ok("todo_op", { op: "done", task: "left" });
  const after = await plan(rpi);
  await rpi.run("two");
  await rpi.ok("clone");
  expect(await plan(rpi)).toEqual(after);
  const { messages } = await rpi.ok("get_fork_messages");
  await rpi.ok("fork", { entryId: messages[1].entryId });
  expect(await plan(rpi)).toEqual(after);
  await rpi.ok("new_session");
  expect(await plan(rpi)).toEqual([]);
  await rpi.ok("switch_session", { sessionPath: sessionFile });
  expect(await plan(rpi)).toEqual(after);
  await rpi.ok("fork", { entryId: messages[0].entryId });
  expect(await plan(rpi)).toEqual(BEGUN);
});

test("the model's todo tool works on the same plan, and a refusal is its result", async () => {
  const call = (args: object): FauxStep[] => [{ toolCall: { name: "todo", arguments: args } }];
  await using rpi = await start({ args: ["--tools", "todo"], turns: [call({ op: "init", items: ["a", "b"] }), call({ op: "done", task: "a" }), call({ op: "start", task: "c" }), [{ text: "done" }]] });
  const run = await rpi.run("plan");
  const results = run.records.filter(({ type }) => type === "tool_execution_end");
  expect(results.map((record) => [record["isError"], record["result"].content[0].text])).toEqual([
    [false, expect.stringContaining("[>] a")], [false, expect.stringContaining("[x] a")], [true, expect.stringContaining('"c" not found')],
  ]);
  expect((await plan(rpi)).map(([, status]) => status)).toEqual(["completed", "in_progress"]);
  expect(run.records.filter(({ type }) => type === "todo_updated").length).toBe(2);
});
