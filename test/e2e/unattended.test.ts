import { expect, test } from "bun:test";
import { start } from "../support/rpi.ts";

test("a command, a plan, a loop and two servers beside each other, down to the end of input with nothing left", async () => {
  await using rpi = await start({ mode: ["-C", "."], args: ["--mode", "rpc", "--offline"] });
  const { cwd } = rpi.sandbox;
  expect(await rpi.ok("bash", { command: "pwd" })).toMatchObject({ output: `${cwd}\n`, exitCode: 0 });

  const task = (id: string, ...dependsOn: string[]) => ({ id, content: id, status: "pending", dependsOn });
  await rpi.ok("set_todos", { phases: [{ name: "Work", tasks: [task("left"), task("right"), task("join", "left", "right")] }] });
  for (const id of ["left", "right", "join"]) expect((await rpi.ok("todo_op", { op: "done", task: id })).completedTasks).toEqual([{ phase: "Work", content: id }]);

  const loop = await rpi.ok("loop_create", { interval: "5m", prompt: "Is it still up?", fireImmediately: false });
  const piped = await rpi.ok("process_spawn", { spec: { argv: ["sleep", "300"], cwd } });
  const onTerminal = await rpi.ok("process_spawn", { spec: { argv: ["/bin/sh", "-c", "sleep 300 & exec cat"], cwd, tty: true } });
  expect(await rpi.ok("process_list")).toEqual([piped, { ...onTerminal, outputCursor: expect.any(Number) }]);

  const types: string[] = [];
  for (let { tree } = await rpi.ok("get_tree"); tree.length > 0; tree = tree[0].children) types.push(tree[0].entry.type);
  expect(types).toEqual(["model_change", "thinking_level_change", "message", "todo_snapshot", "todo_snapshot", "todo_snapshot", "todo_snapshot"]);

  const from = rpi.mark();
  expect(await rpi.finish()).toEqual({ code: 0, signal: null });
  expect(rpi.events("loop_removed", from)).toEqual([{ type: "loop_removed", taskId: loop.id, reason: "shutdown" }]);
  expect(rpi.events("process_exited", from).map((record) => record["process"].id).sort()).toEqual([piped.id, onTerminal.id].sort());
  expect([rpi.events("loop_fired"), rpi.stderr]).toEqual([[], ""]);
  await rpi.gone();
});
