import { z } from "zod";
import { setTodosFields, todoOpFields } from "../../agent/todo-fields.ts";
import { command } from "../command.ts";
import { completedTask, todoPhase } from "../shapes.ts";

const result = () => z.looseObject({ phases: z.array(todoPhase()), completedTasks: z.array(completedTask()), summary: z.string() });

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
