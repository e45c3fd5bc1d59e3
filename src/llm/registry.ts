import { missingNames, type Environment } from "./credential.ts";
import { FAUX } from "./faux-model.ts";
import type { FauxScript } from "./faux-script.ts";
import type { Adapter, Model, ModelRequest, ModelSpec, StreamOptions, StreamResult, Timeouts } from "./model.ts";
import { matchPatterns, resolvePattern, splitLevel, type Choice } from "./pattern.ts";
import { keyAdvice, KNOWN_PROVIDERS } from "./provider.ts";
import { specsOf, type ProviderConfig } from "./provider-config.ts";

export interface FauxOptions {
  script?: FauxScript;
  response?: string;
}

export interface RegistryOptions {
  /** `providers` of models.json, parsed. */
  providers: Record<string, ProviderConfig>;
  /** Keys of auth.json by provider; literals, `$NAME` or `!command`. */
  storedKeys?: Record<string, string>;
  env: Environment;
  /** `--api-key`, which wins over every other key of its provider. */
  apiKey?: { provider: string; key: string } | undefined;
  timeouts: Timeouts;
  faux: FauxOptions;
}

/** The models there are, who has a key, and the way to talk to them. Cheap to make: nothing is read, run or loaded. */
export class ModelRegistry {
  /** What of models.json could not be used, in words. */
  notices: readonly string[] = [];
  #options: RegistryOptions;
  #specs: ModelSpec[] = [];
  /** Models of known providers that were asked for by an id which nobody declared. */
  readonly #undeclared = new Map<string, ModelSpec>();
  #faux: Promise<Adapter> | undefined;

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#declare();
  }

  /** Takes another models.json and other waits, from the next look-up and request on. */
  reload(changed: Pick<RegistryOptions, "providers" | "timeouts">): void {
    this.#options = { ...this.#options, ...changed };
    this.#declare();
  }

  #declare(): void {
    const notices: string[] = [];
    this.#specs = Object.entries(this.#options.providers).flatMap(([id, config]) => specsOf(id, config, notices));
    this.#specs.push(FAUX);
    this.notices = notices;
  }

  /** Those with a usable credential, in the order of models.json; faux last. */
  available(): Model[] {
    return this.#specs.filter((spec) => this.hasKey(spec)).map((spec) => spec.model);
  }

  /** By exact provider and id. */
  find(provider: string, id: string): ModelSpec | undefined {
    return this.#specs.find((spec) => spec.model.provider === provider && spec.model.id === id) ?? this.#undeclared.get(`${provider}/${id}`);
  }

  /**
   * `[provider/]id[:level]`, or a part of an id or name. An exact id wins over a level in the last word. A provider
   * that rpi knows and has a key for takes any id while nobody declared its models.
   */
  resolve(pattern: string, provider?: string): Choice | undefined {
    return resolvePattern(pattern, provider, this.#specs, (spec) => this.hasKey(spec)) ?? this.#resolveUndeclared(pattern, provider);
  }

  /** The scope of `--models`: exact ids, globs (`*`, `?`, `[…]`), parts of ids, each with `:level` or without; usable models only, in the order of the patterns. */
  match(patterns: readonly string[]): Choice[] {
    return matchPatterns(patterns, this.#specs.filter((spec) => this.hasKey(spec)));
  }

  /** Whether a request could be tried: a key that is there or that a command gives, or none needed. */
  hasKey(spec: ModelSpec): boolean {
    if (spec.model.api === "faux") return true;
    const source = this.keySource(spec.model.provider);
    return source === undefined ? this.#needsNoKey(spec) : missingNames(source, this.#options.env).length === 0;
  }

  /** Why no model of a provider can be named that rpi knows, in words; undefined where its name is no reason. */
  lacks(provider: string): string | undefined {
    const known = own(KNOWN_PROVIDERS, provider);
    if (!known || this.#specs.some((spec) => spec.model.provider === provider)) return undefined;
    if (!known.api || !known.baseUrl) return `${provider} has to be described in models.json, with "baseUrl", "api" and "models".`;
    return this.keySource(provider) === undefined ? keyAdvice(provider) : undefined;
  }

  /** Where a provider's key comes from, unresolved: `--api-key`, auth.json, models.json, the environment. */
  keySource(provider: string): string | undefined {
    const { apiKey, storedKeys, providers, env } = this.#options;
    if (apiKey?.provider === provider) return escaped(apiKey.key);
    const given = own(storedKeys, provider) ?? own(providers, provider)?.apiKey;
    if (typeof given === "string" && given !== "") return given;
    const name = own(KNOWN_PROVIDERS, provider)?.env.find((candidate) => env[candidate]);
    return name && `$${name}`;
  }

  /** One answer of a model. Never rejects: what goes wrong is in the result. */
  async stream(spec: ModelSpec, request: ModelRequest, options: Omit<StreamOptions, "apiKey" | "timeouts">): Promise<StreamResult> {
    const { converse } = await import("./converse.ts");
    const { env, timeouts } = this.#options;
    return converse(spec, request, { ...options, timeouts }, {
      env,
      keySource: spec.model.api === "faux" ? undefined : this.keySource(spec.model.provider),
      needsNoKey: this.#needsNoKey(spec),
      faux: () => this.#fauxAdapter(),
    });
  }

  /** Loads what a request to a model needs, so that the first one does not wait for it. */
  async warm(spec: ModelSpec): Promise<void> {
    const { adapterOf } = await import("./converse.ts");
    await adapterOf(spec, { faux: () => this.#fauxAdapter() });
  }

  /** One for the life of the process: it counts the turns it has played. */
  #fauxAdapter(): Promise<Adapter> {
    return (this.#faux ??= import("./faux.ts").then(({ fauxAdapter }) => fauxAdapter(this.#options.faux)));
  }

  /** A server of one's own may go without a key; a provider that rpi knows needs one at its own address. */
  #needsNoKey(spec: ModelSpec): boolean {
    const { provider, baseUrl } = spec.model;
    const known = own(KNOWN_PROVIDERS, provider);
    return spec.model.api === "faux" || known === undefined || (known.baseUrl !== undefined && known.baseUrl !== baseUrl);
  }

  #resolveUndeclared(pattern: string, provider: string | undefined): Choice | undefined {
    const slash = pattern.indexOf("/");
    const [owner, rest] = provider && !pattern.startsWith(`${provider}/`) ? [provider, pattern] : [pattern.slice(0, slash), pattern.slice(slash + 1)];
    const known = own(KNOWN_PROVIDERS, owner);
    if (!known?.api || !known.baseUrl || rest === "" || this.#specs.some((spec) => spec.model.provider === owner)) return undefined;
    const { id, level } = splitLevel(rest);
    const config = own(this.#options.providers, owner) ?? {};
    const [spec] = specsOf(owner, { ...config, models: [{ id, reasoning: level !== undefined && level !== "off", input: ["text", "image"] }] }, []);
    if (!spec || !this.hasKey(spec)) return undefined;
    this.#undeclared.set(`${owner}/${id}`, spec);
    return level ? { spec, level } : { spec };
  }
}

/** A key of the command line is taken as it is. */
function escaped(key: string): string {
  const literal = key.replaceAll("$", "$$$$");
  return literal.startsWith("!") ? `$${literal}` : literal;
}

function own<T>(table: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return table && Object.hasOwn(table, name) ? table[name] : undefined;
}
