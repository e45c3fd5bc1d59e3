import { adapter } from "./builder.ts";
import { resolveValue, type Environment } from "./credential.ts";
import { RequestFailed } from "./failure.ts";
import type { Adapter, ModelRequest, ModelSpec, StreamOptions, StreamResult } from "./model.ts";
import { keyAdvice } from "./provider.ts";
import { repair } from "./repair.ts";

/** Line breaks and other control characters, and what is no byte. */
const NOT_IN_HEADERS = /[^\t\x20-\x7e\x80-\xff]/;

/** What a request needs beside itself. */
export interface Credentials {
  env: Environment;
  /** Unresolved; undefined when there is none. */
  keySource: string | undefined;
  needsNoKey: boolean;
  faux(): Promise<Adapter>;
}

/** One request: its key and headers are looked up, its messages repaired, its adapter loaded. Never rejects. */
export async function converse(spec: ModelSpec, request: ModelRequest, options: StreamOptions, credentials: Credentials): Promise<StreamResult> {
  const { signal } = options;
  let ready: { spec: ModelSpec; options: StreamOptions; talk: Adapter; request: ModelRequest };
  try {
    if (signal.aborted) throw signal.reason;
    const talk = await adapterOf(spec, credentials);
    ready = { talk, request: repair(request, spec), ...(await withCredentials(spec, options, credentials)) };
  } catch (error) {
    return adapter(() => Promise.reject(error))(spec, request, options);
  }
  return ready.talk(ready.spec, ready.request, ready.options);
}

/** Loads what speaks a model's api. Throws RequestFailed when nothing does. */
export async function adapterOf(spec: ModelSpec, { faux }: Pick<Credentials, "faux">): Promise<Adapter> {
  const { api } = spec.model;
  switch (api) {
    case "faux":
      return faux();
    case "openai-completions":
      return (await import("./openai-completions.ts")).openaiCompletions;
    case "anthropic-messages":
      return (await import("./anthropic.ts")).anthropicMessages;
    default:
      throw new RequestFailed({ kind: "bad_request", message: `The api "${api}" of ${spec.model.provider} is not spoken here. Most servers have a compatible one: set "api" to "openai-completions" or "anthropic-messages" in models.json.` });
  }
}

async function withCredentials(spec: ModelSpec, options: StreamOptions, { env, keySource, needsNoKey }: Credentials): Promise<{ spec: ModelSpec; options: StreamOptions }> {
  if (keySource === undefined && !needsNoKey) throw new RequestFailed({ kind: "auth", message: keyAdvice(spec.model.provider) });
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(spec.headers ?? {})) headers[name] = await resolveValue(value, env, options.signal);
  const apiKey = keySource === undefined ? "" : await resolveValue(keySource, env, options.signal);
  const odd = Object.entries({ ...headers, key: apiKey }).find(([, value]) => NOT_IN_HEADERS.test(value));
  if (odd) throw new RequestFailed({ kind: "bad_request", message: `The ${odd[0] === "key" ? "key" : `header ${odd[0]}`} of ${spec.model.provider} holds a line break or another character that no header may hold. Check where it comes from.` });
  return {
    spec: spec.headers ? { ...spec, headers } : spec,
    options: apiKey ? { ...options, apiKey } : options,
  };
}
