import { isOpen, type Plan, type TodoTask } from "./todo-graph.ts";

const MARKS = { pending: "[ ]", in_progress: "[>]", completed: "[x]", abandoned: "[-]" } as const;

/** The plan as a model or a person reads it: how much is open, then each phase with its tasks. */
export function planText(plan: Plan): string {
  const tasks = plan.flatMap((phase) => phase.tasks);
  if (tasks.length === 0) return "The todo list is empty.";
  const open = tasks.filter(isOpen).length;
  const lines = [open === 0 ? `All ${tasks.length} tasks are closed.` : `${tasks.length - open} of ${tasks.length} tasks closed, ${open} open.`];
  for (const phase of plan) {
    lines.push("", `${phase.name}:`);
    for (const task of phase.tasks) lines.push(`  ${MARKS[task.status]} ${task.content}${note(task)}`);
  }
  return lines.join("\n");
}

function note(task: TodoTask): string {
  const notes: string[] = [];
  if (task.status === "in_progress") notes.push("in progress");
  if (task.status === "abandoned") notes.push("dropped");
  if (isOpen(task) && task.blockedBy.length > 0) notes.push(`waits for ${task.blockedBy.map((one) => `"${one.content}"`).join(", ")}`);
  if (task.agent !== undefined) notes.push(`agent ${task.agent}`);
  return notes.length > 0 ? ` (${notes.join("; ")})` : "";
}
