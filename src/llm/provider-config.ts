import { isObject } from "../base/json.ts";
import type { Model, ModelSpec, ThinkingLevel } from "./model.ts";
import { KNOWN_PROVIDERS, type KnownProvider } from "./provider.ts";

/** A model of models.json. */
export interface ModelConfig {
  id: string;
  name?: string;
  api?: string;
  baseUrl?: string;
  reasoning?: boolean;
  input?: ("text" | "image")[];
  contextWindow?: number;
  maxTokens?: number;
  cost?: Partial<Model["cost"]>;
  thinkingLevelMap?: Partial<Record<ThinkingLevel, string | null>>;
  headers?: Record<string, string>;
  compat?: Record<string, unknown>;
}

/** A provider of models.json: `providers.<id>`. Values of `apiKey` and `headers` may be `$NAME` or `!command`. */
export interface ProviderConfig {
  baseUrl?: string;
  api?: string;
  apiKey?: string;
  headers?: Record<string, string>;
  /** Send the key as `Authorization: Bearer`, whatever the api's own way. */
  authHeader?: boolean;
  compat?: Record<string, unknown>;
  models?: ModelConfig[];
}

const isPositive = (value: unknown) => tokens(value) !== null;
const isPrices = (value: unknown) => isObject(value) && Object.values(value).every((one) => typeof one === "number" && one >= 0);
const isInput = (value: unknown) => Array.isArray(value) && value.every((one) => one === "text" || one === "image");

/** What the fields must be that a model can do without. */
const FIELDS: readonly [field: keyof ModelConfig, isGood: (value: unknown) => boolean, what: string][] = [
  ["name", (value) => text(value) !== undefined, "a text"],
  ["reasoning", (value) => typeof value === "boolean", "true or false"],
  ["input", isInput, 'a list of "text" and "image"'],
  ["contextWindow", isPositive, "a number of tokens"],
  ["maxTokens", isPositive, "a number of tokens"],
  ["cost", isPrices, "an object of prices"],
  ["headers", isObject, "an object"],
  ["compat", isObject, "an object"],
  ["thinkingLevelMap", isObject, "an object"],
];

/** The models of one provider; what cannot be used is left out and told in `notices`. */
export function specsOf(provider: string, config: ProviderConfig, notices: string[]): ModelSpec[] {
  if (!isObject(config)) {
    notices.push(`models.json: providers.${provider} is not an object; ignored.`);
    return [];
  }
  const models: unknown = config.models ?? [];
  if (!Array.isArray(models)) {
    notices.push(`models.json: providers.${provider}.models is not a list; ignored.`);
    return [];
  }
  const known = Object.hasOwn(KNOWN_PROVIDERS, provider) ? KNOWN_PROVIDERS[provider] : undefined;
  const specs = new Map<string, ModelSpec>();
  for (const [at, model] of models.entries()) {
    const spec = specOf(provider, config, known, model);
    const where = `models.json: providers.${provider}.models[${at}]`;
    if (typeof spec === "string") notices.push(`${where}: ${spec}; ignored.`);
    else {
      for (const [field, isGood, what] of FIELDS) if ((model[field] ?? undefined) !== undefined && !isGood(model[field])) notices.push(`${where}: ${field} must be ${what}; ignored.`);
      specs.set(spec.model.id, spec);
    }
  }
  return [...specs.values()];
}

/** A spec, or why there is none. */
function specOf(provider: string, config: ProviderConfig, known: KnownProvider | undefined, model: ModelConfig): ModelSpec | string {
  if (!isObject(model) || typeof model.id !== "string" || model.id === "") return "a model needs an id";
  const api = text(model.api) ?? text(config.api) ?? known?.api;
  if (!api) return `"${model.id}" has no api (for a compatible server: "openai-completions")`;
  const baseUrl = text(model.baseUrl) ?? text(config.baseUrl) ?? known?.baseUrl;
  if (!baseUrl) return `"${model.id}" has no baseUrl`;
  const spec: ModelSpec = {
    model: {
      id: model.id,
      name: text(model.name) ?? model.id,
      api,
      provider,
      baseUrl: baseUrl.endsWith("/") ? baseUrl.replace(/\/+$/, "") : baseUrl,
      reasoning: model.reasoning === true,
      input: Array.isArray(model.input) && model.input.includes("image") ? ["text", "image"] : ["text"],
      contextWindow: tokens(model.contextWindow),
      maxTokens: tokens(model.maxTokens),
      cost: { input: price(model.cost?.input), output: price(model.cost?.output), cacheRead: price(model.cost?.cacheRead), cacheWrite: price(model.cost?.cacheWrite) },
    },
  };
  if (config.headers || model.headers) spec.headers = { ...strings(config.headers), ...strings(model.headers) };
  if (config.compat || model.compat) spec.compat = { ...fields(config.compat), ...fields(model.compat) };
  if (config.authHeader === true) spec.authHeader = true;
  if (isObject(model.thinkingLevelMap)) spec.thinkingLevelMap = model.thinkingLevelMap;
  return spec;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function fields(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

function strings(value: unknown): Record<string, string> {
  if (!isObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter((pair): pair is [string, string] => typeof pair[1] === "string"));
}

function tokens(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.floor(value) : null;
}

function price(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}
