import { existsSync } from "node:fs";
import { Refusal } from "../base/refusal.ts";

let found: string | undefined;

/** The shell that runs commands: the one from the settings, else bash, else sh. */
export function findShell(setting?: string): string {
  if (setting) return setting;
  found ??= process.platform === "win32" ? findOnWindows() : existsSync("/bin/bash") ? "/bin/bash" : (Bun.which("bash") ?? "/bin/sh");
  return found;
}

function findOnWindows(): string {
  const folders = [process.env["ProgramFiles"], process.env["ProgramFiles(x86)"]];
  const git = folders.map((folder) => `${folder}\\Git\\bin\\bash.exe`).find((path) => existsSync(path));
  const shell = git ?? Bun.which("bash");
  if (shell) return shell;
  throw new Refusal("unavailable", "no shell found: install Git for Windows, or set `shellPath` in settings.json to a bash");
}
