// npm run demo: a conversation with the real binary, told for a person.
import pc from "picocolors";
import { start } from "../test/support/rpi.ts";
import { Narrator } from "./narrator.ts";
import { files, scenes, turns } from "./scenes.ts";

const narrator = new Narrator((text) => process.stdout.write(text));
console.log(pc.dim("$ rpi rpc --model faux/faux-1 --faux-script script.json   # → what a client sends, ← what it hears (deltas joined)"));

const faults: string[] = [];
{
  await using rpi = await start({ turns, files, patienceMs: 20_000, onRecord: (record) => narrator.heard(record), onSent: (record) => narrator.sent(record) });
  await rpi.event("session_started");
  for (const { title, play } of scenes) {
    narrator.title(title);
    faults.push(...(await play(rpi)));
  }
  const { code } = await rpi.finish();
  narrator.title(`the end of its input: rpi exits with ${code}`);
  if (code !== 0) faults.push(`the exit code should have been 0, not ${code}`);
}
for (const fault of faults) console.error(pc.red(`the demo went wrong: ${fault}`));

console.log(`
With a real model: name a server in ~/.pi/agent/models.json (or have a key such as OPENAI_API_KEY in the environment)

  { "providers": { "local": { "baseUrl": "http://127.0.0.1:11434/v1", "api": "openai-completions", "models": [{ "id": "qwen3:8b" }] } } }

and send it a prompt:

  ${pc.bold(`echo '{"type":"prompt","message":"What is in this folder?"}' | dist/rpi rpc --model local/qwen3:8b`)}
`);
process.exit(faults.length === 0 ? 0 : 1);
