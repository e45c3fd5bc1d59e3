import { readFileSync } from "node:fs";
import path from "node:path";
import type { FauxStep, Rpi } from "../test/support/rpi.ts";
import type { WireRecord } from "../test/support/wire.ts";

/** Part of the demo. Gives what was not as it should be. */
export interface Scene {
  title: string;
  play(rpi: Rpi): Promise<string[]>;
}

const SCRIPT = "greeting.sh";

/** The workspace in which the scenes play. */
export const files = { [SCRIPT]: 'echo "Helo, world"\n' };

/** What the built-in model says and does in them: it needs no key and no network, everything else is real. */
export const turns: FauxStep[][] = [
  [{ text: "I will read the script first." }, { toolCall: { name: "read", arguments: { path: SCRIPT } } }],
  [{ text: "There is the typo; I will mend it." }, { toolCall: { name: "edit", arguments: { path: SCRIPT, edits: [{ oldText: "Helo", newText: "Hello" }] } } }],
  [{ text: "Now let me see it run." }, { toolCall: { name: "bash", arguments: { command: `sh ${SCRIPT}` } } }],
  [{ text: "Done: the script now says “Hello, world”." }],
  Array.from({ length: 500 }, (_, n): FauxStep[] => [{ text: `${n + 1}, ` }, { delayMs: 40 }]).flat(),
];

export const scenes: readonly Scene[] = [
  {
    title: "a prompt: the model reads a file, edits it and runs it",
    async play(rpi) {
      const run = await rpi.run(`There is a typo in ${SCRIPT}. Mend it and run the script.`);
      const results = run.records.filter((record) => record.type === "tool_execution_end");
      return faults({
        "three tools should have run without an error": results.length === 3 && !results.some((record) => record["isError"]),
        "the script should have said “Hello, world”": JSON.stringify(results.at(-1)).includes("Hello, world"),
        [`${SCRIPT} should have been mended`]: readFileSync(path.join(rpi.sandbox.cwd, SCRIPT), "utf8").includes("Hello, world"),
      });
    },
  },
  {
    title: "an abort while the model speaks",
    async play(rpi) {
      const { from } = await rpi.begin("Count to five hundred.");
      await rpi.event((record) => record["assistantMessageEvent"]?.delta?.includes("12"), { from, what: "the model's twelve" });
      await rpi.ok("abort");
      const settled = await rpi.settled(from);
      return faults({ "the run should have been aborted": settled["aborted"] === true });
    },
  },
  {
    title: "a plan: the release waits for two other tasks",
    async play(rpi) {
      const task = (id: string, content: string, dependsOn: string[] = []) => ({ id, content, status: "pending", dependsOn });
      const tasks = [task("tests", "Run the tests"), task("notes", "Write the notes"), task("release", "Release", ["tests", "notes"])];
      const start = await rpi.ok("set_todos", { phases: [{ name: "Version 1", tasks }] });
      const half = await rpi.ok("todo_op", { op: "done", task: "tests" });
      const free = await rpi.ok("todo_op", { op: "done", task: "notes" });
      const end = await rpi.ok("todo_op", { op: "done", task: "release" });
      const statuses = [start, half, free, end].map(({ phases }) => phases[0].tasks[2].status);
      return faults({ [`the release was ${statuses.join(", ")}`]: statuses.join() === "pending,pending,in_progress,completed" });
    },
  },
  {
    title: "a process with a terminal of its own",
    async play(rpi) {
      if (process.platform === "win32") return [];
      const from = rpi.mark();
      const spec = { argv: ["sh"], cwd: rpi.sandbox.cwd, env: { PS1: "$ " }, tty: true, terminalSize: { cols: 80, rows: 24 }, label: "shell" };
      const { id: processId } = await rpi.ok("process_spawn", { spec });
      await rpi.ok("process_write", { processId, text: "stty size\n" });
      await outputWith(rpi, from, "24 80");
      await rpi.ok("process_resize", { processId, cols: 100, rows: 30 });
      await rpi.ok("process_write", { processId, text: "stty size\n" });
      await outputWith(rpi, from, "30 100");
      await rpi.ok("process_keys", { processId, keys: ["CTRL_D"] });
      const { process: ended } = await rpi.event("process_exited", { from });
      return faults({ [`the shell should have ended with 0, not ${ended.exitCode}`]: ended.exitCode === 0 });
    },
  },
];

/** Waits until the output of processes, taken together, holds these words. */
async function outputWith(rpi: Rpi, from: number, words: string): Promise<void> {
  let output = "";
  const hasCome = ({ type, dataBase64 }: WireRecord) => type === "process_output" && (output += Buffer.from(dataBase64, "base64").toString()).includes(words);
  await rpi.event(hasCome, { from, what: `“${words}” from the process` });
}

/** The words of what does not hold. */
function faults(claims: Record<string, boolean>): string[] {
  return Object.entries(claims).flatMap(([words, holds]) => (holds ? [] : [words]));
}
