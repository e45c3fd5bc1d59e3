import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { providerKeyNames } from "../../src/llm/provider.ts";
import type { ProviderConfig } from "../../src/llm/provider-config.ts";
import { ModelRegistry, type RegistryOptions } from "../../src/llm/registry.ts";
import { openai } from "../support/dialects.ts";
import { ModelServer } from "../support/model-server.ts";
import { askSpec, LONG, told } from "./ask.ts";

function registry(providers: Record<string, ProviderConfig>, more: Partial<RegistryOptions> = {}): ModelRegistry {
  return new ModelRegistry({ providers, env: {}, timeouts: LONG, faux: {}, ...more });
}
const compatible = (...ids: string[]): ProviderConfig => ({ baseUrl: "http://127.0.0.1:1/v1", api: "openai-completions", models: ids.map((id) => ({ id })) });
const idsOf = (models: { provider: string; id: string }[]) => models.map(({ provider, id }) => `${provider}/${id}`);

describe("Models of models.json", () => {
  test("are told whole, what nobody said as unknown, nothing secret", () => {
    const full = { id: "m", name: "M", reasoning: true, input: ["text", "image"] as ("text" | "image")[], contextWindow: 1000, maxTokens: 100, cost: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 } };
    const { models: _, ...rest } = compatible();
    const models = registry({ p: { ...rest, apiKey: "sk-secret", headers: { x: "y" }, models: [full, { id: "n" }] } }).available();
    expect(models.slice(0, 2)).toEqual([
      { ...full, api: "openai-completions", provider: "p", baseUrl: "http://127.0.0.1:1/v1" },
      { id: "n", name: "n", api: "openai-completions", provider: "p", baseUrl: "http://127.0.0.1:1/v1", reasoning: false, input: ["text"], contextWindow: null, maxTokens: null, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } },
    ]);
  });
  test("have faux behind them, which needs nothing", () => {
    expect(registry({}).available()).toEqual([
      { id: "faux-1", name: "Faux 1 (offline)", api: "faux", provider: "faux", baseUrl: "", reasoning: false, input: ["text", "image"], contextWindow: 128_000, maxTokens: 16_384, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } },
    ]);
  });
  test("that are wrong are told and left out, the others stay", () => {
    const broken = registry({ a: { baseUrl: "http://h", models: [{ id: "m" }] }, b: { api: "openai-completions", models: [{ id: "m" }, { id: "ok", baseUrl: "http://h/" }] }, c: [] as never, d: { models: {} as never }, e: { models: [{} as never] } });
    expect(broken.notices).toEqual([
      'models.json: providers.a.models[0]: "m" has no api (for a compatible server: "openai-completions"); ignored.',
      'models.json: providers.b.models[0]: "m" has no baseUrl; ignored.',
      "models.json: providers.c is not an object; ignored.",
      "models.json: providers.d.models is not a list; ignored.",
      "models.json: providers.e.models[0]: a model needs an id; ignored.",
    ]);
    expect(idsOf(broken.available())).toEqual(["b/ok", "faux/faux-1"]);
  });
  test("are taken without a field that is wrong, which is told", () => {
    const odd = { id: "m", name: null, reasoning: false, input: "text", contextWindow: "big", maxTokens: 0, cost: { input: "free" } };
    const models = registry({ p: { ...compatible(), models: [odd as never] } });
    expect(models.notices).toEqual(['input must be a list of "text" and "image"', "contextWindow must be a number of tokens", "maxTokens must be a number of tokens", "cost must be an object of prices"].map((what) => `models.json: providers.p.models[0]: ${what}; ignored.`));
    expect(models.find("p", "m")?.model).toMatchObject({ name: "m", input: ["text"], contextWindow: null, maxTokens: null, cost: { input: 0 } });
  });
  test("of a known provider need neither address nor api, and override each other by id", () => {
    const { model } = registry({ openai: { models: [{ id: "gpt", name: "old" }, { id: "gpt", name: "new" }] } }).find("openai", "gpt")!;
    expect([model.name, model.api, model.baseUrl]).toEqual(["new", "openai-completions", "https://api.openai.com/v1"]);
  });
});

describe("A key", () => {
  const usable = (config: ProviderConfig, more?: Partial<RegistryOptions>, id = "p") => registry({ [id]: { ...compatible("m"), ...config } }, more).available().length > 1;

  test("is a literal, a variable that is set, a command, or not needed", () => {
    expect(usable({ apiKey: "sk" })).toBe(true);
    expect(usable({ apiKey: "$KEY" })).toBe(false);
    expect(usable({ apiKey: "$KEY" }, { env: { KEY: "" } })).toBe(false);
    expect(usable({ apiKey: "x-${KEY}" }, { env: { KEY: "k" } })).toBe(true);
    expect(usable({ apiKey: "!never-run" })).toBe(true);
    expect(usable({})).toBe(true);
    expect(usable({ apiKey: "$$KEY" })).toBe(true);
  });
  test("of a known provider is its variable's, unless models.json names one", () => {
    const config = { models: [{ id: "m" }] };
    expect(registry({ anthropic: config }).available().length).toBe(1);
    expect(registry({ anthropic: config }, { env: { ANTHROPIC_API_KEY: "k" } }).available().length).toBe(2);
    expect(registry({ anthropic: { ...config, apiKey: "$OTHER" } }, { env: { ANTHROPIC_API_KEY: "k" } }).available().length).toBe(1);
  });
  test("is not needed for a known provider's dialect at an address of one's own", () => {
    expect(registry({ openai: compatible("m") }).available().length).toBe(2);
  });
  test("of the command line wins over the stored one, which wins over models.json", async () => {
    await using server = await ModelServer.start(openai.answer("x"));
    const keyWith = async (more: Partial<RegistryOptions>) => {
      const models = registry({ p: { ...compatible("m"), baseUrl: server.url, apiKey: "of-models" } }, more);
      await askSpec(models, models.find("p", "m")!);
      return server.last.headers.authorization;
    };
    expect(await keyWith({})).toBe("Bearer of-models");
    expect(await keyWith({ storedKeys: { p: "$STORED" }, env: { STORED: "of-auth" } })).toBe("Bearer of-auth");
    expect(await keyWith({ storedKeys: { p: "of-auth" }, apiKey: { provider: "p", key: "!of $HOME" } })).toBe("Bearer !of $HOME");
    expect(await keyWith({ apiKey: { provider: "q", key: "other" } })).toBe("Bearer of-models");
  });
  test("that is missing is a failure in words", async () => {
    const models = registry({ openai: { models: [{ id: "m" }] }, p: { ...compatible("m"), apiKey: "$KEY" } });
    expect((await askSpec(models, models.find("openai", "m")!)).failure).toEqual({ kind: "auth", message: 'No API key for openai. Set OPENAI_API_KEY, or put "apiKey" into models.json.' });
    expect((await askSpec(models, models.find("p", "m")!)).failure).toEqual({ kind: "auth", message: "The environment variable KEY is not set." });
  });
  test("has its variable named for those who keep it from children", () => {
    expect(providerKeyNames()).toEqual(expect.arrayContaining(["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "AWS_BEARER_TOKEN_BEDROCK"]));
  });
});

describe("A command that gives a key", () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "rpi-key-"));
  const server = ModelServer.start(openai.answer("x"));
  afterAll(async () => {
    await (await server).close();
    rmSync(dir, { recursive: true });
  });
  const models = async (apiKey: string, env: Record<string, string> = {}) => registry({ p: { ...compatible("m"), baseUrl: (await server).url, apiKey, headers: { "x-from": "!printf header" } } }, { env: { PATH: process.env.PATH, ...env } });

  test("runs at the first request and once, without anything on its stdin", async () => {
    const log = path.join(dir, "runs");
    const keyed = await models(`!cat; echo run >> '${log}'; printf ' key-of-command\\n'`);
    expect(existsSync(log)).toBe(false);
    const [first] = await Promise.all([askSpec(keyed, keyed.find("p", "m")!), askSpec(keyed, keyed.find("p", "m")!)]);
    expect(told(first)).toEqual({ content: [{ type: "text", text: "x" }], stopReason: "stop" });
    expect((await server).last.headers).toMatchObject({ authorization: "Bearer key-of-command", "x-from": "header" });
    expect(readFileSync(log, "utf8")).toBe("run\n");
  });
  test("that fails is told, and tried again at the next request", async () => {
    const file = path.join(dir, "key");
    const keyed = await models(`!cat '${file}'`);
    const spec = keyed.find("p", "m")!;
    expect((await askSpec(keyed, spec)).failure).toEqual({ kind: "auth", message: "The command that gives the key (cat …) ended with exit code 1. Try it in a shell." });
    await Bun.write(file, "now");
    expect(told(await askSpec(keyed, spec))).toMatchObject({ stopReason: "stop" });
  });
  test("that prints nothing is told", async () => {
    const keyed = await models("!true");
    expect((await askSpec(keyed, keyed.find("p", "m")!)).failure).toMatchObject({ kind: "auth", message: expect.stringContaining("printed nothing") });
  });
  test("that prints more than a key is told, and not tried again", async () => {
    const keyed = await models("!printf 'one\\ntwo'");
    expect((await askSpec(keyed, keyed.find("p", "m")!)).failure).toEqual({ kind: "bad_request", message: "The key of p holds a line break or another character that no header may hold. Check where it comes from." });
  });
  test("that takes too long is ended, its children too", async () => {
    const { commandOutput } = await import("../../src/llm/key-command.ts");
    const began = performance.now();
    await expect(commandOutput("sleep 30 & sleep 30", { PATH: process.env.PATH }, new AbortController().signal, 50)).rejects.toThrow("took longer than 0.05 s");
    expect(performance.now() - began).toBeLessThan(5000);
  });
  test("does not hold an abort up", async () => {
    const keyed = await models("!sleep 1");
    const controller = new AbortController();
    const asked = askSpec(keyed, keyed.find("p", "m")!, { signal: controller.signal });
    controller.abort();
    expect(told(await asked)).toEqual({ content: [], stopReason: "aborted" });
  });
});

describe("A model is found", () => {
  const models = registry({
    a: compatible("qwen3:8b", "qwen3:high", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5", "gpt-5", "deep/seek"),
    b: { ...compatible("gpt-5", "only-b"), apiKey: "$MISSING" },
    c: { ...compatible("gpt-6"), models: [{ id: "gpt-6", name: "Great Model" }] },
  });
  const resolve = (pattern: string, provider?: string) => {
    const choice = models.resolve(pattern, provider);
    return choice && [`${choice.spec.model.provider}/${choice.spec.model.id}`, ...(choice.level ? [choice.level] : [])].join(" ");
  };

  test("by provider and id, exactly", () => {
    expect(models.find("a", "gpt-5")?.model.provider).toBe("a");
    expect(models.find("b", "gpt-5")?.model.provider).toBe("b");
    expect(models.find("a", "GPT-5")).toBeUndefined();
    expect(models.find("faux", "faux-1")?.model.api).toBe("faux");
  });
  test("by id, with provider or not, in any case of letters", () => {
    expect(resolve("gpt-6")).toBe("c/gpt-6");
    expect(resolve("C/GPT-6")).toBe("c/gpt-6");
    expect(resolve("deep/seek")).toBe("a/deep/seek");
    expect(resolve("a/deep/seek:low")).toBe("a/deep/seek low");
    expect(resolve("gpt-5", "b")).toBe("b/gpt-5");
    expect(resolve("b/gpt-5", "b")).toBe("b/gpt-5");
    expect(resolve("faux-1")).toBe("faux/faux-1");
  });
  test("with a level, unless the id itself ends so", () => {
    expect(resolve("gpt-6:high")).toBe("c/gpt-6 high");
    expect(resolve("qwen3:8b")).toBe("a/qwen3:8b");
    expect(resolve("qwen3:8b:max")).toBe("a/qwen3:8b max");
    expect(resolve("qwen3:high")).toBe("a/qwen3:high");
    expect(resolve("qwen3:high:low")).toBe("a/qwen3:high low");
    expect(resolve("gpt-6:huge")).toBeUndefined();
  });
  test("first of all where there is a key", () => {
    expect(resolve("gpt-5")).toBe("a/gpt-5");
    expect(resolve("only-b")).toBe("b/only-b");
  });
  test("by a part of its id or name, dateless before dated; faux never", () => {
    expect(resolve("sonnet")).toBe("a/claude-sonnet-4-5");
    expect(resolve("sonnet:high")).toBe("a/claude-sonnet-4-5 high");
    expect(resolve("great m")).toBe("c/gpt-6");
    expect(resolve("a/gpt")).toBe("a/gpt-5");
    expect(resolve("aux")).toBeUndefined();
    expect(resolve("")).toBeUndefined();
    expect(resolve("none")).toBeUndefined();
  });
  test("of a known provider by any id, while nobody declared its models", () => {
    const keyed = registry({}, { env: { OPENROUTER_API_KEY: "k" } });
    const choice = keyed.resolve("openrouter/some/model:high")!;
    expect([choice.spec.model.id, choice.spec.model.reasoning, choice.level]).toEqual(["some/model", true, "high"]);
    expect(keyed.find("openrouter", "some/model")).toBe(choice.spec);
    expect(keyed.resolve("some/model", "openrouter")?.spec.model.id).toBe("some/model");
    expect(keyed.resolve("openai/gpt-5")).toBeUndefined();
    expect(registry({ openrouter: { models: [{ id: "m" }] } }, { env: { OPENROUTER_API_KEY: "k" } }).resolve("openrouter/none")).toBeUndefined();
  });
});

test("A scope is the usable models that its patterns mean, each once and in their order", () => {
  const models = registry({ a: compatible("gpt-5", "gpt-6", "x/y-1", "odd[1m]"), b: { ...compatible("gpt-7"), apiKey: "$MISSING" } });
  const match = (...patterns: string[]) => models.match(patterns).map(({ spec, level }) => [spec.model.id, ...(level ? [level] : [])].join(" "));
  expect(match("gpt-6", "gpt-*")).toEqual(["gpt-6", "gpt-5"]);
  expect(match("a/*:low")).toEqual(["gpt-5 low", "gpt-6 low", "x/y-1 low", "odd[1m] low"]);
  expect(match("GPT-[56]", "gpt-?:high")).toEqual(["gpt-5", "gpt-6"]);
  expect(match("x*1", "y-1")).toEqual(["x/y-1"]);
  expect(match("odd[1m]")).toEqual(["odd[1m]"]);
  expect(match("b/gpt-7", "none", "[z-a]", " ")).toEqual([]);
});

test("An api that is not spoken is told with those that are", async () => {
  const models = registry({ p: { ...compatible("m"), api: "bedrock" } });
  expect((await askSpec(models, models.find("p", "m")!)).failure).toMatchObject({ kind: "bad_request", message: expect.stringContaining('The api "bedrock" of p is not spoken here.') });
});
