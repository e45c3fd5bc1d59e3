/** Those that a client may send to a process (protocol.md, section 8). */
export const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGKILL"] as const;
export type ProcessSignal = (typeof SIGNALS)[number];

/** Sends a signal to a process or, with a negative number, to a group. False when it is gone or may not be signalled. */
export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    if (isErrno(error, "ESRCH") || isErrno(error, "EPERM")) return false;
    throw error;
  }
}

/** Whether the process or, with a negative number, anybody of the group is there, as a zombie too. */
export function hasProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if (isErrno(error, "ESRCH")) return false;
    if (isErrno(error, "EPERM")) return true;
    throw error;
  }
}

/** The exit code that a shell gives for a death by this signal; Bun gives the bare number of one that it cannot name. */
export function deathBy(signal: NodeJS.Signals | number): { exitCode: number; signal: string } {
  if (typeof signal === "number") return { exitCode: 128 + signal, signal: `SIG${signal}` };
  const { constants } = require("node:os") as typeof import("node:os");
  return { exitCode: 128 + constants.signals[signal], signal };
}

/** The name of the signal that a shell's exit code tells (128+n); undefined when it tells none. */
export function signalOf(exitCode: number): string | undefined {
  const { constants } = require("node:os") as typeof import("node:os");
  return Object.entries(constants.signals).find(([, number]) => 128 + number === exitCode)?.[0];
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
