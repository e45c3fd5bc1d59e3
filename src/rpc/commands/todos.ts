import type { Zod } from "../../base/zod.ts";
import { setTodosFields, todoOpFields } from "../../agent/todo-fields.ts";
import { command } from "../command.ts";
import { completedTask, todoPhase } from "../shapes.ts";

const result = (z: Zod) => z.looseObject({ phases: z.array(todoPhase(z)), completedTasks: z.array(completedTask(z)), summary: z.string() });

export const todos = {
  set_todos: command({
    summary: "Replace the whole plan.",
    when: "now",
    params: setTodosFields,
    data: result,
    run: (app, { phases }) => app.todos.set(phases),
  }),
  todo_op: command({
    summary: "Change the plan by one operation, or view it.",
    when: "now",
    params: todoOpFields,
    data: result,
    run: (app, op) => app.todos.op(op),
  }),
};
