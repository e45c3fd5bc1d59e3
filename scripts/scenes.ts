import { readFileSync } from "node:fs";
import path from "node:path";
import type { FauxStep, Rpi } from "../test/support/rpi.ts";

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
];

/** The words of what does not hold. */
function faults(claims: Record<string, boolean>): string[] {
  return Object.entries(claims).flatMap(([words, holds]) => (holds ? [] : [words]));
}
