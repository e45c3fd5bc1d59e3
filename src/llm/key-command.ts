import { untilAborted } from "../base/wait.ts";
import { wordsOf } from "../base/text.ts";
import type { Environment } from "./credential.ts";
import { RequestFailed } from "./failure.ts";

const LIMIT_MS = 10_000;

/** Answers of commands by their text, for the life of the process; a failure is not kept. */
const answers = new Map<string, Promise<string>>();

/** What a `!command` prints, without the blanks around it. Runs once; requests at the same time share the run. */
export async function commandOutput(command: string, env: Environment, signal: AbortSignal, limitMs = LIMIT_MS): Promise<string> {
  let answer = answers.get(command);
  if (!answer) {
    answer = run(command, env, limitMs);
    answers.set(command, answer);
    answer.catch(() => answers.delete(command));
  }
  return untilAborted(answer, signal);
}

async function run(command: string, env: Environment, limitMs: number): Promise<string> {
  const shell = process.platform === "win32" ? ["cmd", "/d", "/s", "/c", command] : ["/bin/sh", "-c", command];
  let child: Bun.Subprocess<"ignore", "pipe", "ignore">;
  try {
    child = Bun.spawn(shell, { env: { ...env }, stdin: "ignore", stdout: "pipe", stderr: "ignore", detached: true });
  } catch (error) {
    throw failed(command, `could not be started: ${wordsOf(error)}`);
  }
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    killGroup(child);
  }, limitMs);
  try {
    const [output, exitCode] = await Promise.all([child.stdout.text(), child.exited]);
    if (timedOut) throw failed(command, `took longer than ${limitMs / 1000} s`);
    if (exitCode !== 0) throw failed(command, `ended with exit code ${exitCode}`);
    const key = output.trim();
    if (!key) throw failed(command, "printed nothing");
    return key;
  } finally {
    clearTimeout(timer);
  }
}

function killGroup(child: Bun.Subprocess): void {
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // No group on Windows, or it is gone already.
    child.kill("SIGKILL");
  }
}

function failed(command: string, why: string): RequestFailed {
  const name = command.trim().split(/\s/, 1)[0] ?? "";
  return new RequestFailed({ kind: "auth", message: `The command that gives the key (${name} …) ${why}. Try it in a shell.` });
}
