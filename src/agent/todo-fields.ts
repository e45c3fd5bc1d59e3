import type { z as Z } from "zod";
import type { Zod } from "../base/zod.ts";
import { TODO_STATUSES } from "./todo-graph.ts";

const TODO_OPS = ["init", "start", "done", "drop", "rm", "append", "add_dependency", "remove_dependency", "update_dependencies", "view"] as const;

/** The fields of `set_todos` (protocol.md, section 7). What is computed may be given, as it came, and is not looked at. */
export const setTodosFields = (z: Zod) =>
  z.object({
    phases: z
      .array(
        z.object({
          name: z.string(),
          tasks: z.array(
            z.object({
              id: z.string().nullish(),
              content: z.string(),
              status: z.enum(TODO_STATUSES),
              dependsOn: z.array(z.string()).nullish().describe("ids of the tasks that come first"),
              agent: z.string().nullish(),
            }),
          ),
        }),
      )
      .describe("the whole plan; it replaces the present one"),
  });

/** The fields that an operation cannot do without. */
const NEEDED: Partial<Record<(typeof TODO_OPS)[number], readonly ("task" | "phase" | "items" | "dependsOn")[]>> = {
  append: ["phase", "items"],
  add_dependency: ["task", "dependsOn"],
  remove_dependency: ["task", "dependsOn"],
  update_dependencies: ["task", "dependsOn"],
};

/** The fields of `todo_op`, and the arguments of the model's `todo` tool. */
export const todoOpFields = (z: Zod) =>
  z
    .object({
      op: z.enum(TODO_OPS),
      task: z.string().min(1).optional().describe("id or content of a task; start, done, drop, rm: without it and without phase, all of them"),
      phase: z.string().min(1).optional().describe("name of a phase"),
      items: z.array(z.string()).optional().describe("contents of new tasks (append; init of a single phase)"),
      list: z
        .array(z.object({ phase: z.string(), items: z.array(z.string()), agents: z.array(z.string().nullable()).nullish() }))
        .optional()
        .describe("init: the phases with the contents of their tasks"),
      dependsOn: z.array(z.string()).optional().describe("ids or contents of the tasks that come first"),
      cascade: z.boolean().optional().describe("rm: also what depends on the removed tasks"),
    })
    .superRefine((fields, context) => {
      const miss = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
      for (const name of NEEDED[fields.op] ?? []) if (fields[name] == null) miss(name, `is required by ${fields.op}`);
      if (fields.op === "init" && fields.list == null && fields.items == null) miss("list", "init needs list, or items and perhaps phase");
    });

export type SetTodos = Z.infer<ReturnType<typeof setTodosFields>>;
export type TodoOp = Z.infer<ReturnType<typeof todoOpFields>>;
