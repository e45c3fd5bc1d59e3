import path from "node:path";
import { Children } from "../../src/process/children.ts";
import { runShell, type ShellOptions, type ShellResult } from "../../src/process/shell.ts";
import { isAlive } from "../support/alive.ts";
import { until } from "../support/until.ts";

/** The path of a little program for tests, to be run by sh. */
export const fixture = (name: string) => path.join(import.meta.dir, "../fixtures/process", name);

/** Children for one test; all are ended when it is over. */
export function makeChildren(env: Record<string, string | undefined> = process.env, hidden: string[] = []): Children & AsyncDisposable {
  const children = new Children({ env, hiddenNames: new Set(hidden) });
  return Object.assign(children, { [Symbol.asyncDispose]: () => children.close(0) });
}

export interface ShellRun extends ShellResult {
  deltas: string[];
}

/** Runs a command in / and collects its deltas. */
export async function sh(children: Children, command: string, o: Partial<ShellOptions> = {}): Promise<ShellRun> {
  const deltas: string[] = [];
  const result = await runShell(children, { command, cwd: "/", onText: (delta) => void deltas.push(delta), ...o });
  return { ...result, deltas };
}

/** The pids that the fixtures print. */
export function familyIn(text: string): number[] {
  return /family ([\d ]+)/.exec(text)?.[1]?.trim().split(" ").map(Number) ?? [];
}

/** Waits until none of the processes runs. */
export const untilGone = (pids: number[], ms?: number) => until(() => pids.every((pid) => !isAlive(pid)), () => `the end of ${pids.filter(isAlive).join(", ")}`, ms);
