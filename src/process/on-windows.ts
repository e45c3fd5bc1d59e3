import { existsSync } from "node:fs";
import { hasProcess, sendSignal } from "./signals.ts";
import type { System } from "./platform.ts";

/** There are no process groups: a child's tree is ended by taskkill, and nothing ends it when rpi is killed. */
export const onWindows: System = {
  openPipe: () => undefined,
  hasBytes: () => false,
  signalGroup(leader, signal) {
    if (!hasProcess(leader)) return;
    const options = { stdin: "ignore", stdout: "ignore", stderr: "ignore", windowsHide: true } as const;
    try {
      Bun.spawn(["taskkill", "/T", "/F", "/PID", String(leader)], options).unref();
    } catch {
      // Without taskkill the tree cannot be reached, the child itself can.
      sendSignal(leader, signal);
    }
  },
  isGroupAlive: (leader) => hasProcess(leader),
  isGroupOfZombies: () => false,
  findMarked: () => [],
  findShell() {
    const folders = [process.env["ProgramFiles"], process.env["ProgramFiles(x86)"]];
    const git = folders.map((folder) => `${folder}\\Git\\bin\\bash.exe`).find((path) => existsSync(path));
    return git ?? Bun.which("bash") ?? undefined;
  },
  hasReaper: false,
};
