import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import path from "node:path";
import { binary, start } from "./support/rpi.ts";
import { Sandbox } from "./support/sandbox.ts";
import { Schemas } from "./support/schemas.ts";

const readme = readFileSync(path.join(import.meta.dir, "../README.md"), "utf8");
const python = Bun.which("python3");

/** The first block of a language. */
function block(language: string): string {
  const found = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "s").exec(readme)?.[1];
  if (!found) throw new Error(`the README has no ${language} block`);
  return found;
}

test.skipIf(!python)("the README's Python client prints the built-in model's answer", async () => {
  using sandbox = new Sandbox();
  const source = block("python");
  expect(source.trim().split("\n").length).toBeLessThanOrEqual(11);
  const PATH = `${path.dirname(await binary())}${path.delimiter}${process.env["PATH"]}`;
  const client = Bun.spawn([python!, "-c", source], { cwd: sandbox.cwd, env: sandbox.env({ PATH, PI_FAUX_RESPONSE: "Hello from the model." }), stderr: "pipe" });
  const [out, err, code] = await Promise.all([client.stdout.text(), client.stderr.text(), client.exited]);
  expect({ out: out.trim(), err, code }).toEqual({ out: "Hello from the model.", err: "", code: 0 });
});

test("the README's models.json is enough for a prompt that is answered by a compatible server", async () => {
  const asked: any[] = [];
  using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      asked.push({ path: new URL(request.url).pathname, key: request.headers.get("authorization"), ...((await request.json()) as object) });
      const chunk = (delta: object, finish: string | null) => `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
      return new Response(`${chunk({ content: "A README." }, null)}${chunk({}, "stop")}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
    },
  });
  const models = block("json").replace("127.0.0.1:11434", `127.0.0.1:${server.port}`);
  const model = /rpi rpc --model (\S+)/.exec(readme)?.[1] ?? "";
  await using rpi = await start({ model, agentFiles: { "models.json": models } });
  const request = /echo '(.*?)'/.exec(readme)?.[1] ?? "";
  rpi.sendRaw(`${request}\n`);
  rpi.closeStdin();
  expect(await rpi.exit()).toEqual({ code: 0, signal: null });
  expect(rpi.events("message_end").at(-1)?.["message"].content).toEqual([{ type: "text", text: "A README." }]);
  expect(asked).toMatchObject([{ path: "/v1/chat/completions", key: null, model: "qwen3:8b" }]);
});

test("the README names every command that there is, and no other", async () => {
  const table = readme.slice(readme.indexOf("## Commands"), readme.indexOf("## How it ends"));
  const rows = table.split("\n").filter((line) => /^\| [A-Z]/.test(line));
  const named = rows.flatMap((row) => [...row.matchAll(/`(\w+)`/g)].map((match) => match[1]!));
  const { commands } = await Schemas.of(await binary());
  expect(named.sort()).toEqual(commands.filter((type) => type !== "extension_ui_response").sort());
});
