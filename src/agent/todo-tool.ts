import { z } from "zod";
import { Refusal } from "../base/refusal.ts";
import { tidy } from "../tools/tidy.ts";
import { type Tool, ToolFailure } from "../tools/tool.ts";
import { todoOpFields, type TodoOp } from "./todo-fields.ts";
import type { TodoList } from "./todos.ts";
import prose from "./todo-tool.md" with { type: "text" };

/** The model's hand on the plan: the operations of `todo_op`, over the same list. */
export function todoTool(list: Pick<TodoList, "op">): Tool<TodoOp> {
  let fields: ReturnType<typeof todoOpFields> | undefined;
  const parameters = () => (fields ??= todoOpFields(z));
  return {
    name: "todo",
    description: prose.trim(),
    snippet: "Keep a plan of the work, with phases and dependencies",
    parameters,
    prepare: (args) => tidy(args, parameters()),
    async run(op) {
      try {
        return { content: [{ type: "text", text: list.op(op).summary }] };
      } catch (error) {
        throw error instanceof Refusal ? new ToolFailure(error.message) : error;
      }
    },
  };
}
