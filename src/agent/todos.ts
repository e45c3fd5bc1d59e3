import { setTodosFields, type SetTodos, type TodoOp } from "./todo-fields.ts";
import { type Plan, settle, type TodoPhase } from "./todo-graph.ts";
import { applyOp } from "./todo-ops.ts";
import { planText } from "./todo-summary.ts";

export interface CompletedTask {
  phase: string;
  content: string;
}

/** The `data` of `set_todos` and `todo_op` (protocol.md, section 7). */
export interface TodoResult {
  phases: Plan;
  /** The tasks that this call completed. */
  completedTasks: CompletedTask[];
  /** The plan in words. */
  summary: string;
}

export interface TodoEvent {
  type: "todo_updated";
  phases: Plan;
  completedTasks: CompletedTask[];
}

/** The `state` of a `todo_snapshot` entry. */
export interface TodoState {
  phases: Plan;
}

/** Replaces the whole plan. Throws a Refusal that names every fault; `before` stays as it is. */
export function setTodos(before: Plan, phases: SetTodos["phases"]): TodoResult {
  return resultOf(before, settle(phases));
}

/** Applies one operation; `view` gives the plan as it is. Throws a Refusal that names every fault; `before` stays as it is. */
export function todoOp(before: Plan, op: TodoOp): TodoResult {
  return resultOf(before, op.op === "view" ? before : applyOp(before, op));
}

function resultOf(before: Plan, phases: Plan): TodoResult {
  return { phases, completedTasks: completedBetween(before, phases), summary: planText(phases) };
}

/** Tasks that are completed now and were in the plan before without being so; found by id, else by phase and content. */
function completedBetween(before: Plan, after: Plan): CompletedTask[] {
  const statuses = new Map<string, string>();
  const place = (phase: string, content: string) => JSON.stringify([phase, content]);
  for (const { name, tasks } of before) for (const task of tasks) statuses.set(task.id, task.status).set(place(name, task.content), task.status);
  return after.flatMap(({ name, tasks }) =>
    tasks.flatMap((task) => {
      if (task.status !== "completed") return [];
      const was = statuses.get(task.id) ?? statuses.get(place(name, task.content));
      return was === undefined || was === "completed" ? [] : [{ phase: name, content: task.content }];
    }),
  );
}

/**
 * The plan of the present session. Every write is stored before it is told and before the caller has its answer;
 * what cannot be stored (`store` throws) did not happen.
 */
export class TodoList {
  #plan: Plan = [];

  constructor(private readonly o: { store(state: TodoState): void; emit(event: TodoEvent): void }) {}

  get phases(): Plan {
    return this.#plan;
  }

  /** `set_todos`. Throws as `setTodos` does. */
  set(phases: SetTodos["phases"]): TodoResult {
    return this.#take(setTodos(this.#plan, phases), true);
  }

  /** `todo_op`, and the model's `todo` tool. Throws as `todoOp` does. */
  op(op: TodoOp): TodoResult {
    return this.#take(todoOp(this.#plan, op), op.op !== "view");
  }

  /**
   * Takes the plan of another session or branch: the state of its last `todo_snapshot`, undefined when it has none.
   * Tells nobody. False when the state is no plan (the list is empty then).
   */
  async restore(state: unknown): Promise<boolean> {
    this.#plan = [];
    if (state === undefined || state === null) return true;
    const { z } = await import("zod");
    const read = setTodosFields(z).safeParse(state);
    if (!read.success) return false;
    try {
      this.#plan = settle(read.data.phases);
    } catch {
      // Another program's plan may break our rules; it is as good as none, which the caller tells.
      return false;
    }
    return true;
  }

  #take(result: TodoResult, isWrite: boolean): TodoResult {
    if (isWrite) this.o.store({ phases: result.phases });
    this.#plan = result.phases;
    this.o.emit({ type: "todo_updated", phases: result.phases, completedTasks: result.completedTasks });
    return result;
  }
}
