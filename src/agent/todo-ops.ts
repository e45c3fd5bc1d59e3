import type { TodoOp } from "./todo-fields.ts";
import { dependantsOf, type DraftPhase, type DraftTask, Faults, isOpen, type Plan, settle, type TodoPhase, type TodoTask } from "./todo-graph.ts";

/** The phase of an `init` that gives items and no name. */
const UNNAMED = "Tasks";

/** Applies one operation that writes. Throws a Refusal that names every fault; `plan` stays as it is. */
export function applyOp(plan: Plan, op: TodoOp): TodoPhase[] {
  switch (op.op) {
    case "init":
      return init(plan, op);
    case "append":
      return append(plan, op.phase ?? "", op.items ?? []);
    case "start":
      return start(plan, op);
    case "done":
      return close(plan, op, "completed");
    case "drop":
      return close(plan, op, "abandoned");
    case "rm":
      return remove(plan, op);
    case "add_dependency":
    case "remove_dependency":
    case "update_dependencies":
      return depend(plan, op.op, op.task ?? "", op.dependsOn ?? []);
    case "view":
      return [...plan];
  }
}

function init(plan: Plan, op: TodoOp): TodoPhase[] {
  const faults = new Faults();
  const list = op.list ?? [{ phase: op.phase ?? UNNAMED, items: op.items ?? [] }];
  if (list.length === 0) faults.add("init needs at least one phase");
  const draft: DraftPhase[] = list.map((entry) => {
    const { phase, items } = entry;
    const agents = "agents" in entry ? (entry.agents ?? []) : [];
    if (items.length === 0) faults.add(`phase "${phase}" has no items`);
    if (agents.length > items.length) faults.add(`phase "${phase}" has more agents than items`);
    return { name: phase, tasks: items.map((content, at) => ({ content, status: "pending", agent: agents[at] })) };
  });
  faults.check();
  // Whoever sends the same plan again must not lose what was done, nor the ids it was told.
  return isSamePlan(plan, draft) ? settle(plan) : settle(draft);
}

/** Phases, contents and their order; agents only where the draft speaks of them. */
function isSamePlan(plan: Plan, draft: readonly DraftPhase[]): boolean {
  return (
    plan.length === draft.length &&
    plan.every(({ name, tasks }, p) => {
      const other = draft[p]!;
      return name === other.name && tasks.length === other.tasks.length && tasks.every((task, t) => isSameTask(task, other.tasks[t]!));
    })
  );
}

function isSameTask(task: TodoTask, draft: DraftTask): boolean {
  return task.content === draft.content && (draft.agent === undefined || (task.agent ?? null) === draft.agent);
}

function append(plan: Plan, name: string, items: readonly string[]): TodoPhase[] {
  const faults = new Faults();
  if (items.length === 0) faults.add("append needs at least one item");
  const known = new Set(plan.flatMap((phase) => phase.tasks.map((task) => task.content)));
  for (const content of items) if (known.has(content)) faults.add(`task "${content}" is in the plan already`);
  faults.check();
  const added = items.map((content) => ({ content, status: "pending" as const }));
  const draft: DraftPhase[] = plan.map((phase) => ({ name: phase.name, tasks: phase.name === name ? [...phase.tasks, ...added] : phase.tasks }));
  return settle(plan.some((phase) => phase.name === name) ? draft : [...draft, { name, tasks: added }]);
}

function start(plan: Plan, op: TodoOp): TodoPhase[] {
  const faults = new Faults();
  const named = op.task != null;
  const targets = find(plan, op, faults).filter((task) => named || task.status === "pending");
  faults.check();
  const unfinished = unfinishedOf(plan);
  const blocked = targets.filter((task) => unfinished(task).length > 0);
  // Of a group those that can start do; a single one, or a group of which none can, is an error.
  if (named || blocked.length === targets.length) {
    for (const task of blocked) {
      const by = unfinished(task).map((one) => `"${one.content}" (${one.id}, ${one.status})`);
      faults.add(`task "${task.content}" cannot start: it is blocked by ${by.join(", ")}`);
    }
  }
  faults.check();
  const started = new Set(targets.filter((task) => !blocked.includes(task)));
  return settle(mapTasks(plan, (task) => (started.has(task) ? { ...task, status: "in_progress" } : task)));
}

/** The unfinished dependencies of a task, a closed one too: that one can be started again. */
function unfinishedOf(plan: Plan): (task: TodoTask) => TodoTask[] {
  const byId = new Map(plan.flatMap((phase) => phase.tasks.map((task) => [task.id, task])));
  return (task) => task.dependsOn.flatMap((id) => byId.get(id) ?? []).filter(isOpen);
}

function close(plan: Plan, op: TodoOp, status: "completed" | "abandoned"): TodoPhase[] {
  const faults = new Faults();
  // Without a name it is about what is left to do: what was dropped is not completed by "all", nor the other way round.
  const targets = new Set(find(plan, op, faults).filter((task) => op.task != null || isOpen(task)));
  faults.check();
  return settle(mapTasks(plan, (task) => (targets.has(task) ? { ...task, status } : task)));
}

function remove(plan: Plan, op: TodoOp): TodoPhase[] {
  const faults = new Faults();
  const gone = new Set(find(plan, op, faults).map((task) => task.id));
  faults.check();
  const tasks = plan.flatMap((phase) => phase.tasks);
  if (op.cascade) {
    const dependants = dependantsOf(tasks);
    // A Set gives what is added during the walk as well.
    for (const id of gone) for (const task of dependants.get(id) ?? []) gone.add(task.id);
  }
  const left = tasks.filter((task) => !gone.has(task.id) && task.dependsOn.some((id) => gone.has(id)));
  for (const task of left) faults.add(`task "${task.content}" (${task.id}) depends on what is to be removed; take that dependency away first, or remove with cascade`);
  faults.check();
  const isGone = (phase: TodoPhase) => op.task == null && (op.phase == null || op.phase === phase.name);
  const kept = plan.filter((phase) => !isGone(phase));
  return settle(kept.map((phase) => ({ name: phase.name, tasks: phase.tasks.filter((task) => !gone.has(task.id)) })));
}

function depend(plan: Plan, how: "add_dependency" | "remove_dependency" | "update_dependencies", name: string, names: readonly string[]): TodoPhase[] {
  const faults = new Faults();
  if (names.length === 0 && how !== "update_dependencies") faults.add(`${how} needs at least one dependency`);
  const [target] = find(plan, { task: name }, faults);
  const ids = names.flatMap((one) => find(plan, { task: one }, faults).map((task) => task.id));
  faults.check();
  if (!target) return settle(plan);
  if (how === "remove_dependency") {
    for (const id of ids) if (!target.dependsOn.includes(id)) faults.add(`task "${target.content}" does not depend on "${id}"`, "not_found");
    faults.check();
  }
  const dependsOn = {
    add_dependency: () => [...target.dependsOn, ...ids],
    remove_dependency: () => target.dependsOn.filter((id) => !ids.includes(id)),
    update_dependencies: () => ids,
  }[how]();
  return settle(mapTasks(plan, (task) => (task === target ? { ...task, dependsOn } : task)));
}

/** The tasks that `task` and `phase` mean: one by id or content, a phase, or all. */
function find(plan: Plan, { task: name, phase: phaseName }: Pick<TodoOp, "task" | "phase">, faults: Faults): TodoTask[] {
  const phases = phaseName == null ? plan : plan.filter((phase) => phase.name === phaseName);
  if (phaseName != null && phases.length === 0) {
    faults.add(`phase "${phaseName}" not found`, "not_found");
    return [];
  }
  const tasks = phases.flatMap((phase) => phase.tasks);
  if (name == null) return tasks;
  const found = tasks.find((task) => task.id === name) ?? tasks.find((task) => task.content === name);
  if (found) return [found];
  const where = phaseName == null ? "" : ` in phase "${phaseName}"`;
  faults.add(`task "${name}" not found${where}${plan.length === 0 ? " (there is no plan yet)" : ""}`, "not_found");
  return [];
}

function mapTasks(plan: Plan, change: (task: TodoTask) => TodoTask): DraftPhase[] {
  return plan.map((phase) => ({ name: phase.name, tasks: phase.tasks.map(change) }));
}
