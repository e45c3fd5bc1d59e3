// npm run demo: a conversation with the real binary, told for a person.
import { readFileSync } from "node:fs";
import path from "node:path";
import pc from "picocolors";
import { type FauxStep, start, type Rpi } from "../test/support/rpi.ts";
import { Narrator } from "./narrator.ts";

const SCRIPT = "greeting.sh";

/** What the built-in model says and does: it needs no key and no network, everything else is real. */
const turns: FauxStep[][] = [
  [{ text: "I will read the script first." }, { toolCall: { name: "read", arguments: { path: SCRIPT } } }],
  [{ text: "There is the typo; I will mend it." }, { toolCall: { name: "edit", arguments: { path: SCRIPT, edits: [{ oldText: "Helo", newText: "Hello" }] } } }],
  [{ text: "Now let me see it run." }, { toolCall: { name: "bash", arguments: { command: `sh ${SCRIPT}` } } }],
  [{ text: "Done: the script now says “Hello, world”." }],
  Array.from({ length: 500 }, (_, n): FauxStep[] => [{ text: `${n + 1}, ` }, { delayMs: 40 }]).flat(),
];

const narrator = new Narrator((text) => process.stdout.write(text));
console.log(pc.dim("$ rpi rpc --model faux/faux-1 --faux-script script.json   # → what a client sends, ← what it hears (deltas joined)\n"));

let isAsItShouldBe = false;
{
  await using rpi = await start({
    turns,
    files: { [SCRIPT]: 'echo "Helo, world"\n' },
    patienceMs: 20_000,
    onRecord: (record) => narrator.heard(record),
    onSent: (record) => narrator.sent(record),
  });
  await rpi.event("session_started");
  const faults = [...(await fixTypo(rpi)), ...(await interrupt(rpi))];
  const { code } = await rpi.finish();
  narrator.say(`end of input: rpi exits with ${code}`);
  if (code !== 0) faults.push(`the exit code is ${code}`);
  for (const fault of faults) console.error(pc.red(`the demo went wrong: ${fault}`));
  isAsItShouldBe = faults.length === 0;
}

console.log(`
With a real model, give rpi a key in its environment, or name a server in ~/.pi/agent/models.json:

  { "providers": { "local": { "baseUrl": "http://127.0.0.1:11434/v1", "api": "openai-completions", "models": [{ "id": "qwen3:8b" }] } } }

  ${pc.bold(`echo '{"type":"prompt","message":"What is in this folder?"}' | ${path.join("dist", "rpi")} rpc --model local/qwen3:8b`)}
`);
process.exit(isAsItShouldBe ? 0 : 1);

/** A prompt whose run reads a file, edits it and runs it. Gives what was not as it should be. */
async function fixTypo(rpi: Rpi): Promise<string[]> {
  const run = await rpi.run(`There is a typo in ${SCRIPT}. Mend it and run the script.`);
  const results = run.records.filter((record) => record.type === "tool_execution_end");
  const faults: string[] = [];
  if (results.length !== 3 || results.some((record) => record["isError"])) faults.push("three tools should have run without an error");
  if (!JSON.stringify(results.at(-1)).includes("Hello, world")) faults.push("the script should have said “Hello, world”");
  if (!readFileSync(path.join(rpi.sandbox.cwd, SCRIPT), "utf8").includes("Hello, world")) faults.push(`${SCRIPT} should have been mended`);
  return faults;
}

/** A run that is aborted while the model speaks. */
async function interrupt(rpi: Rpi): Promise<string[]> {
  const { from } = await rpi.begin("Count to five hundred.");
  await rpi.event((record) => record["assistantMessageEvent"]?.delta?.includes("12"), { from, what: "the model's twelve" });
  await rpi.ok("abort");
  const settled = await rpi.settled(from);
  return settled["aborted"] === true ? [] : ["the run should have been aborted"];
}
