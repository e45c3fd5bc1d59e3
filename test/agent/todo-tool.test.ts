import { expect, test } from "bun:test";
import { checkArguments } from "../../src/agent/arguments.ts";
import { todoTool } from "../../src/agent/todo-tool.ts";
import { TodoList, type TodoEvent } from "../../src/agent/todos.ts";
import { toolSchema } from "../../src/tools/schema.ts";

function make() {
  const events: TodoEvent[] = [];
  const list = new TodoList({ store() {}, emit: (event) => events.push(event) });
  const tool = todoTool(list);
  const call = async (given: Record<string, unknown>) => {
    const checked = checkArguments(tool, given);
    if ("fault" in checked) return checked.fault;
    const result = await tool.run(checked.args as never, { cwd: "/", toolCallId: "1", signal: new AbortController().signal, update() {} });
    return result.content[0]?.type === "text" ? result.content[0].text : "";
  };
  return { events, list, tool, call };
}

test("the todo tool works on the plan of the session and answers with the plan in words", async () => {
  const { events, list, call } = make();
  expect(await call({ op: "init", list: JSON.stringify([{ phase: "Build", items: ["compile", "test"] }]), task: null })).toBe("0 of 2 tasks closed, 2 open.\n\nBuild:\n  [>] compile (in progress)\n  [ ] test");
  expect(await call({ op: "done", task: "compile" })).toBe("1 of 2 tasks closed, 1 open.\n\nBuild:\n  [x] compile\n  [>] test (in progress)");
  expect(events.map((event) => event.completedTasks)).toEqual([[], [{ phase: "Build", content: "compile" }]]);
  expect(list.phases[0]?.tasks.map((task) => task.status)).toEqual(["completed", "in_progress"]);
});

test("the todo tool says what is wrong with a call", async () => {
  const { events, call } = make();
  await expect(call({ op: "done", task: "nowhere" })).rejects.toThrow('Errors: task "nowhere" not found (there is no plan yet)');
  expect(await call({ op: "append" })).toContain("- phase: is required by append");
  expect(events).toEqual([]);
});

test("the todo tool's schema is an object that names every operation", () => {
  const { tool } = make();
  expect(toolSchema(tool)).toMatchObject({ name: "todo", parameters: { type: "object", required: ["op"], properties: { op: { enum: expect.arrayContaining(["init", "view"]) } } } });
});
