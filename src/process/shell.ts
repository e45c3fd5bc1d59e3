import { Refusal } from "../base/refusal.ts";
import type { ChildEnd } from "./child.ts";
import type { Children } from "./children.ts";
import { Deltas } from "./deltas.ts";
import { Output, type OutputTail } from "./output.ts";
import { Pump } from "./pump.ts";
import { scriptFor } from "./script.ts";
import { system } from "./system.ts";

export interface ShellOptions {
  command: string;
  /** Absolute. */
  cwd: string;
  /** Default: bash, else sh. */
  shellPath?: string | undefined;
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  /** Each piece of the plain text, in order; together they are the whole of it. */
  onText?: ((delta: string) => void) | undefined;
  /** Awaited between pieces, when it gives a promise: what the command writes meanwhile waits in its pipe. */
  ready?: (() => Promise<void> | undefined) | undefined;
}

export interface ShellResult extends OutputTail {
  /** 128+n after signal n; null when cancelled or timed out. */
  exitCode: number | null;
  cancelled: boolean;
  timedOut: boolean;
  /** Everything as it came, private to the user; only when `truncated`. */
  fullOutputPath?: string;
  /** Why there is no such file though the output was truncated. */
  fullOutputFailure?: string;
  /** Something in the background still has the pipe. It lives on; what it writes is thrown away. */
  heldByBackground: boolean;
}

/**
 * Runs a command in a shell of its own, stdin closed, and resolves when the shell has exited and what was in
 * its pipe is read; after an abort or a timeout when all that it had started is gone. Rejects with a Refusal
 * when the shell cannot be started.
 */
export async function runShell(children: Children, o: ShellOptions): Promise<ShellResult> {
  const output = new Output();
  if (o.signal?.aborted) return result(output, { why: "abort", exitCode: 1 }, false);
  using script = scriptFor(shellFor(o.shellPath), o.command);
  const child = children.run({
    argv: script.argv,
    cwd: o.cwd,
    owner: "shell",
    signal: o.signal,
    timeoutMs: o.timeoutMs,
  });
  const deltas = o.onText && new Deltas(o.onText);
  const pump = new Pump(child.output!, (bytes) => {
    const { text, ready } = output.add(bytes);
    deltas?.add(text);
    const taken = o.ready?.();
    return ready && taken ? Promise.all([ready, taken]) : (ready ?? taken);
  });
  const letGo = () => pump.letGo();
  o.signal?.addEventListener("abort", letGo, { once: true });
  try {
    const end = await child.ended;
    await pump.settle();
    deltas?.add(output.end());
    deltas?.flush();
    return await result(output, end, !pump.isAtEnd);
  } finally {
    o.signal?.removeEventListener("abort", letGo);
  }
}

async function result(output: Output, end: ChildEnd, heldByBackground: boolean): Promise<ShellResult> {
  const { full, ...tail } = await output.close();
  return {
    ...tail,
    exitCode: end.why === "exit" ? end.exitCode : null,
    cancelled: end.why === "abort" || end.why === "stop",
    timedOut: end.why === "timeout",
    ...(full.path !== undefined && { fullOutputPath: full.path }),
    ...(full.failure !== undefined && { fullOutputFailure: full.failure }),
    heldByBackground,
  };
}

/** The shell that the settings name, else the system's. Throws a Refusal when there is none. */
export function shellFor(setting: string | undefined): string {
  const path = setting || (found ??= system.findShell());
  if (path) return path;
  throw new Refusal("unavailable", "no shell found: set `shellPath` in settings.json to a bash");
}

let found: string | undefined;
