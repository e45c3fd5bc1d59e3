/** Signals of a process group; on Windows, which has none, those of the process alone. */
export type Signal = NodeJS.Signals;

const target = (leader: number) => (process.platform === "win32" ? leader : -leader);

/** Sends a signal to the group. False when nobody is left in it or nobody in it may be signalled. */
export function signalGroup(leader: number, signal: Signal): boolean {
  return send(target(leader), signal);
}

/** Sends a signal to one process. False when it is gone or may not be signalled. */
export function signalProcess(pid: number, signal: Signal): boolean {
  return send(pid, signal);
}

/** Whether anybody is in the group, a zombie included. */
export function isGroupAlive(leader: number): boolean {
  return exists(target(leader));
}

/** Whether the process is there, as a zombie too. */
export function isProcessAlive(pid: number): boolean {
  return exists(pid);
}

function send(pid: number, signal: Signal): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    if (isErrno(error, "ESRCH") || isErrno(error, "EPERM")) return false;
    throw error;
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if (isErrno(error, "ESRCH")) return false;
    if (isErrno(error, "EPERM")) return true;
    throw error;
  }
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
