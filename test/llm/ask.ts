import type { Message } from "../../src/llm/message.ts";
import { ModelRegistry, type FauxOptions } from "../../src/llm/registry.ts";
import type { ModelRequest, ModelSpec, StreamEvent, StreamResult, Timeouts } from "../../src/llm/model.ts";
import type { ModelConfig, ProviderConfig } from "../../src/llm/provider-config.ts";

export const LONG: Timeouts = { connectMs: 30_000, firstEventMs: 30_000, idleMs: 30_000 };

export interface Asked extends StreamResult {
  events: StreamEvent[];
}

export interface Ask {
  api?: string;
  model?: Partial<ModelConfig>;
  provider?: Partial<ProviderConfig>;
  providerId?: string;
  request?: Partial<ModelRequest>;
  timeouts?: Partial<Timeouts>;
  signal?: AbortSignal;
  env?: Record<string, string>;
  faux?: FauxOptions;
  onEvent?(event: StreamEvent): void;
  ready?(): Promise<void> | undefined;
}

export function registryAt(url: string, { api = "openai-completions", model, provider, providerId = "p", timeouts, env = {}, faux = {} }: Ask = {}): ModelRegistry {
  return new ModelRegistry({
    providers: { [providerId]: { baseUrl: api === "openai-completions" ? `${url}/v1` : url, api, apiKey: "sk-test-key-0123", ...provider, models: [{ id: "m", contextWindow: 100_000, maxTokens: 8000, ...model }] } },
    env,
    timeouts: { ...LONG, ...timeouts },
    faux,
  });
}

/** One request to a server at `url`; what came of it. */
export async function ask(url: string, options: Ask = {}): Promise<Asked> {
  const registry = registryAt(url, options);
  return askSpec(registry, registry.find(options.providerId ?? "p", options.model?.id ?? "m")!, options);
}

export async function askSpec(registry: ModelRegistry, spec: ModelSpec, { request, signal, onEvent, ready }: Ask = {}): Promise<Asked> {
  const events: StreamEvent[] = [];
  const result = await registry.stream(
    spec,
    { systemPrompt: "", messages: [user("hi")], tools: [], thinkingLevel: "off", ...request },
    {
      signal: signal ?? new AbortController().signal,
      emit: (event) => {
        events.push(event);
        onEvent?.(event);
      },
      ...(ready ? { ready } : {}),
    },
  );
  return { ...result, events };
}

export function user(content: Extract<Message, { role: "user" }>["content"], timestamp = 1): Message {
  return { role: "user", content, timestamp };
}

/** The parts of a result that a test of streams looks at. */
export function told({ message, failure }: StreamResult): object {
  return { content: message.content, stopReason: message.stopReason, ...(failure ? { failure: failure.kind, says: failure.message } : {}) };
}
