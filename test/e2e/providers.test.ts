import { describe, expect, test } from "bun:test";
import path from "node:path";
import { start } from "../support/rpi.ts";
import { Sandbox } from "../support/sandbox.ts";
import { openai } from "../support/dialects.ts";
import { ModelServer, type Served } from "../support/model-server.ts";
import { PNG } from "../llm/transcript.ts";

const KEY = "sk-very-secret-0123456789";
const HEADER = "header-secret-0123456789";

function agentFiles(url: string, settings: object = {}) {
  const provider = { baseUrl: `${url}/v1`, api: "openai-completions", apiKey: KEY, headers: { "x-token": HEADER }, models: [{ id: "m", input: ["text", "image"], contextWindow: 100_000, maxTokens: 4000 }] };
  return { "models.json": { providers: { local: provider } }, "settings.json": { retry: { maxRetries: 1, baseDelayMs: 1 }, ...settings } };
}

/** Whether the last user message of a request holds an image. */
const hasImage = ({ body }: Served) => JSON.stringify(body.messages).includes("image_url");

test("an image that the provider refuses is left out, told, kept in the transcript, and the conversation goes on", async () => {
  await using server = await ModelServer.start((request) => (hasImage(request) ? { status: 400, body: [JSON.stringify({ error: { message: "Could not process image" } })] } : openai.answer("No image here.")));
  await using rpi = await start({ model: "local/m", agentFiles: agentFiles(server.url) });
  const run = await rpi.run("What is on it?", { images: [PNG] });
  expect(run.settled).toEqual({ type: "agent_settled", aborted: false, stopReason: "stop", promptIds: [run.id] });
  expect(run.text).toBe("No image here.");
  expect(run.records.filter(({ type }) => type === "notice")).toMatchObject([{ code: "image_refused" }]);
  expect((await rpi.run("And now?")).text).toBe("No image here.");
  expect(server.requests.map(hasImage)).toEqual([true, false, false]);
  expect((await rpi.ok("get_messages")).messages[0].content[1]).toEqual(PNG);
});

test("user messages in a row are joined for a server that refuses them", async () => {
  const isInARow = ({ body }: Served) => body.messages.some((message: { role: string }, at: number) => message.role === "user" && body.messages[at + 1]?.role === "user");
  await using server = await ModelServer.start((request) => (isInARow(request) ? { status: 500, body: ["Conversation roles must alternate user/assistant/user/assistant/..."] } : openai.answer("Fine.")));
  await using rpi = await start({ model: "local/m", agentFiles: agentFiles(server.url) });
  await rpi.ok("bash", { command: "echo before" });
  expect((await rpi.run("hi")).text).toBe("Fine.");
  expect(server.requests.length).toBe(2);
});

test("a tool that the model made up does not spoil the requests after it", async () => {
  await using server = await ModelServer.start(({ n, body }) => {
    if (n === 1) return [openai.call(0, "c1", "functions.bash<|x|>", { command: "ls" }), openai.finish("tool_calls"), openai.done];
    const names = body.messages.flatMap((message: { tool_calls?: { function: { name: string } }[] }) => message.tool_calls ?? []).map((call: { function: { name: string } }) => call.function.name);
    return names.every((name: string) => /^[a-zA-Z0-9_-]{1,64}$/.test(name)) ? openai.answer("ok") : { status: 400, body: ["bad name"] };
  });
  await using rpi = await start({ model: "local/m", agentFiles: agentFiles(server.url) });
  expect((await rpi.run("go")).settled).toMatchObject({ stopReason: "stop" });
});

test("patterns of --models that match nothing are told", async () => {
  await using rpi = await start({ model: "local/m", agentFiles: agentFiles("http://127.0.0.1:1"), args: ["--models", "local/*,nothing-like-it"] });
  expect(await rpi.event("notice")).toMatchObject({ level: "warning", code: "unknown_model", message: "No usable model matches nothing-like-it of --models" });
  expect(rpi.stderr).toContain("nothing-like-it");
});

test("halves of a character are put together again; one that stays half is replaced on the wire and on disk", async () => {
  await using server = await ModelServer.start([openai.text("so \ud83d"), openai.text("\ude00 good"), openai.text(" \ud83d"), openai.finish("stop"), openai.done]);
  await using rpi = await start({ model: "local/m", agentFiles: agentFiles(server.url) });
  const run = await rpi.run("half \ud800");
  const deltas = run.records.flatMap((record) => (record.type === "message_update" && record["assistantMessageEvent"].type === "text_delta" ? [record["assistantMessageEvent"].delta] : []));
  expect([deltas.join(""), run.text]).toEqual(["so 😀 good ", "so 😀 good \ufffd"]);
  const { sessionFile } = await rpi.ok("get_state");
  expect(await Bun.file(sessionFile).text()).not.toContain("\\ud8");
  expect((await rpi.ok("get_entries")).entries.at(-2).message.content[0].text).toBe("half \ufffd");
});

test("a model that is not found, for its file was ignored, says so", async () => {
  await using rpi = await start({ model: "local/m", agentFiles: { "models.json": { providers: { local: { baseUrl: "http://127.0.0.1:1", models: [{ id: "m" }] } } } } });
  const { error } = (await rpi.event("response")) as { error?: string };
  expect(error).toBe('Model not found: local/m. There are: faux/faux-1. What was ignored may be why: models.json: providers.local.models[0]: "m" has no api (for a compatible server: "openai-completions"); ignored.');
  expect((await rpi.exit()).code).toBe(1);
});

test("a model that is not found is told with what would have to be done for it", async () => {
  using sandbox = new Sandbox();
  const there = "There are: faux/faux-1.";
  const others = `Others have to be described in ${path.join(sandbox.agentDir, "models.json")}.`;
  const words = {
    "openai/gpt-5": `${there} No API key for openai. Set OPENAI_API_KEY, or put "apiKey" into models.json.`,
    "google/gemini": `${there} google has to be described in models.json, with "baseUrl", "api" and "models".`,
    "local/m": `${there} ${others}`,
    m: `${there} ${others}`,
  };
  for (const [model, why] of Object.entries(words)) {
    await using rpi = await start({ sandbox, model });
    expect((await rpi.event("response"))["error"]).toBe(`Model not found: ${model}. ${why}`);
    expect((await rpi.exit()).code).toBe(1);
  }
  await using rpi = await start({ sandbox });
  expect(await rpi.refused("set_model", { provider: "openai", modelId: "gpt-5" })).toEqual({ code: "not_found", error: "Model not found: openai/gpt-5" });
});

test("a key in the environment is enough for set_model too, by the exact id", async () => {
  await using rpi = await start({ env: { OPENAI_API_KEY: "k" } });
  expect(await rpi.ok("set_model", { provider: "openai", modelId: "gpt-5" })).toMatchObject({ provider: "openai", id: "gpt-5" });
  expect((await rpi.refused("set_model", { provider: "faux", modelId: "faux" })).code).toBe("not_found");
});

describe("keys and headers", () => {
  test("go to the provider and nowhere else, whatever it says back", async () => {
    const echo = (request: Served) => `you sent ${request.headers["authorization"]} and ${request.headers["x-token"]}`;
    await using server = await ModelServer.start((request) => {
      if (request.n === 1) return { status: 401, body: [JSON.stringify({ error: { message: echo(request) } })] };
      if (request.n === 2) return { status: 400, body: [echo(request)] };
      return [openai.text("x"), openai.error({ message: echo(request), code: 400 })];
    });
    await using rpi = await start({ model: "local/m", agentFiles: agentFiles(server.url) });
    for (const n of [1, 2, 3]) expect((await rpi.run(`try ${n}`)).settled).toMatchObject({ stopReason: "error", errorMessage: expect.stringContaining("[redacted]") });
    expect(server.last.headers["x-token"]).toBe(HEADER);
    const { sessionFile } = await rpi.ok("get_state");
    await rpi.ok("get_available_models");
    const told = JSON.stringify(rpi.records) + rpi.stderr + (await Bun.file(sessionFile).text());
    expect([told.includes(KEY), told.includes(HEADER)]).toEqual([false, false]);
  });
});
