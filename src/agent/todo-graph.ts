import { Refusal, type RefusalCode } from "../base/refusal.ts";

export const TODO_STATUSES = ["pending", "in_progress", "completed", "abandoned"] as const;
export type TodoStatus = (typeof TODO_STATUSES)[number];

/** A task of the plan, as the wire shows it (protocol.md, section 7). */
export interface TodoTask {
  id: string;
  content: string;
  status: TodoStatus;
  /** Ids of the tasks that must be completed or abandoned first. */
  dependsOn: string[];
  /** Open, and nothing blocks it. Computed. */
  ready: boolean;
  /** The unfinished dependencies, in the order of `dependsOn`. Computed. */
  blockedBy: { taskId: string; content: string; status: TodoStatus }[];
  agent?: string;
}

export interface TodoPhase {
  name: string;
  tasks: TodoTask[];
}

/** A whole plan. Never changed in place: every operation makes a new one. */
export type Plan = readonly TodoPhase[];

/** A task before it is checked; `dependsOn` may name contents as well as ids. */
export interface DraftTask {
  id?: string | null | undefined;
  content: string;
  status: TodoStatus;
  dependsOn?: readonly string[] | null | undefined;
  agent?: string | null | undefined;
}

export interface DraftPhase {
  name: string;
  tasks: DraftTask[];
}

export const isOpen = (task: { status: TodoStatus }): boolean => task.status === "pending" || task.status === "in_progress";

/** What is wrong with a call: all of it is told at once. */
export class Faults {
  #words: string[] = [];
  #codes = new Set<RefusalCode>();

  add(words: string, code: RefusalCode = "invalid"): void {
    this.#words.push(words);
    this.#codes.add(code);
  }

  /** Throws a Refusal when there is any: `Errors: <e1>; <e2>`, `not_found` when that is all that is wrong. */
  check(): void {
    if (this.#words.length === 0) return;
    const code = this.#codes.size === 1 && this.#codes.has("not_found") ? "not_found" : "invalid";
    throw new Refusal(code, `Errors: ${this.#words.join("; ")}`);
  }
}

/**
 * Makes a plan of a draft: gives missing ids, checks everything, and brings statuses, `ready` and `blockedBy`
 * up to date. Throws a Refusal that names every fault; the draft is left as it is.
 */
export function settle(draft: readonly DraftPhase[]): TodoPhase[] {
  const faults = new Faults();
  const phases = withIds(draft);
  checkNames(phases, faults);
  const tasks = phases.flatMap((phase) => phase.tasks);
  nameDependencies(tasks);
  checkDependencies(tasks, faults);
  faults.check();
  project(tasks);
  promote(tasks);
  project(tasks);
  return phases;
}

function withIds(draft: readonly DraftPhase[]): TodoPhase[] {
  const used = new Set(draft.flatMap((phase) => phase.tasks.flatMap((task) => task.id ?? [])));
  const idOf = (phase: string, content: string): string => {
    for (let salt = 0; ; salt += 1) {
      const id = stableId(phase, content, salt);
      if (used.has(id)) continue;
      used.add(id);
      return id;
    }
  };
  return draft.map(({ name, tasks }) => ({
    name,
    tasks: tasks.map(({ id, content, status, dependsOn, agent }) => ({
      id: id ?? idOf(name, content),
      content,
      status,
      dependsOn: [...(dependsOn ?? [])],
      ready: false,
      blockedBy: [],
      ...(agent == null ? {} : { agent }),
    })),
  }));
}

/** The same phase and content give the same id, in every process; `salt` only where another task took that id. */
function stableId(phase: string, content: string, salt: number): string {
  const text = JSON.stringify(salt === 0 ? [phase, content] : [phase, content, salt]);
  return `task-${new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 20)}`;
}

function checkNames(phases: readonly TodoPhase[], faults: Faults): void {
  const names = new Set<string>();
  const contents = new Set<string>();
  const ids = new Set<string>();
  for (const { name, tasks } of phases) {
    checkText(name, "phase name", faults);
    if (names.has(name)) faults.add(`duplicate phase "${name}"`);
    names.add(name);
    for (const task of tasks) {
      checkText(task.content, "task content", faults);
      if (contents.has(task.content)) faults.add(`duplicate task "${task.content}"`);
      contents.add(task.content);
      checkText(task.id, "task id", faults);
      if (ids.has(task.id)) faults.add(`duplicate task id "${task.id}"`);
      ids.add(task.id);
      if (task.agent !== undefined) checkText(task.agent, "agent name", faults);
    }
  }
}

function checkText(text: string, what: string, faults: Faults): void {
  if (text.trim() === "") faults.add(`${what} must not be empty`);
  else if (text.trim() !== text) faults.add(`the ${what} "${text}" must not begin or end with blanks`);
}

/** Contents in `dependsOn` become ids; an id that is spelt like another task's content stays that id. */
function nameDependencies(tasks: readonly TodoTask[]): void {
  const ids = new Set(tasks.map((task) => task.id));
  const byContent = new Map(tasks.map((task) => [task.content, task.id]));
  for (const task of tasks) task.dependsOn = task.dependsOn.map((name) => (ids.has(name) ? name : (byContent.get(name) ?? name)));
}

function checkDependencies(tasks: readonly TodoTask[], faults: Faults): void {
  const ids = new Set(tasks.map((task) => task.id));
  for (const task of tasks) {
    const seen = new Set<string>();
    for (const id of task.dependsOn) {
      if (id === task.id) faults.add(`task "${task.content}" depends on itself`);
      else if (!ids.has(id)) faults.add(`task "${task.content}" depends on "${id}", which is not in the plan`);
      if (seen.has(id)) faults.add(`task "${task.content}" names the dependency "${id}" twice`);
      seen.add(id);
    }
  }
  const cycle = findCycle(tasks);
  if (cycle.length > 1) faults.add(`the dependencies form a cycle: ${[...cycle, cycle[0]!].map((task) => `"${task.content}"`).join(" → ")}`);
}

/** The tasks that depend on a task, by its id. */
export function dependantsOf(tasks: readonly TodoTask[]): Map<string, TodoTask[]> {
  const dependants = new Map<string, TodoTask[]>(tasks.map((task) => [task.id, []]));
  for (const task of tasks) for (const id of task.dependsOn) dependants.get(id)?.push(task);
  return dependants;
}

/** The tasks of one cycle, each depending on the next; empty when there is none. */
function findCycle(tasks: readonly TodoTask[]): TodoTask[] {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const dependants = dependantsOf(tasks);
  const waitsFor = new Map(tasks.map((task) => [task, task.dependsOn.filter((id) => byId.has(id)).length]));
  const free = tasks.filter((task) => waitsFor.get(task) === 0);
  for (let task = free.pop(); task; task = free.pop()) {
    waitsFor.delete(task);
    for (const one of dependants.get(task.id) ?? []) {
      const left = waitsFor.get(one)! - 1;
      waitsFor.set(one, left);
      if (left === 0) free.push(one);
    }
  }
  // What is left waits for a cycle or stands in one; following what is left from any of it leads into one.
  const path = new Set<TodoTask>();
  let task = waitsFor.keys().next().value;
  while (task && !path.has(task)) {
    path.add(task);
    task = task.dependsOn.flatMap((id) => byId.get(id) ?? []).find((one) => waitsFor.has(one));
  }
  return task ? [...path].slice([...path].indexOf(task)) : [];
}

/** Computes `blockedBy` and `ready` from the statuses. */
function project(tasks: readonly TodoTask[]): void {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  for (const task of tasks) {
    task.blockedBy = task.dependsOn.flatMap((id) => {
      const one = byId.get(id)!;
      return isOpen(one) ? [{ taskId: id, content: one.content, status: one.status }] : [];
    });
    task.ready = isOpen(task) && task.blockedBy.length === 0;
  }
}

/** What is in progress and not ready falls back; when nothing is in progress, the first that is ready begins. */
function promote(tasks: readonly TodoTask[]): void {
  for (const task of tasks) if (task.status === "in_progress" && !task.ready) task.status = "pending";
  if (tasks.some((task) => task.status === "in_progress")) return;
  const next = tasks.find((task) => task.ready);
  if (next) next.status = "in_progress";
}
