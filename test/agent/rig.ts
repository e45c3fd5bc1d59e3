import { z } from "zod";
import { Agent, type AgentOptions, type AgentSettings, type Said } from "../../src/agent/agent.ts";
import type { AgentEvent } from "../../src/agent/events.ts";
import type { Failure } from "../../src/llm/failure.ts";
import { noUsage, textOf, type AssistantMessage, type ToolCall, type Usage } from "../../src/llm/message.ts";
import type { Model, ModelRequest, ModelSpec, StreamOptions, StreamResult, ThinkingLevel } from "../../src/llm/model.ts";
import { Children } from "../../src/process/children.ts";
import type { AgentMessage } from "../../src/session/message.ts";
import { Session } from "../../src/session/session.ts";
import type { Tool, ToolContext, ToolResult } from "../../src/tools/tool.ts";

export function spec(id = "m", more: Partial<Model> = {}): ModelSpec {
  return { model: { id, name: id, api: "fake", provider: "p", baseUrl: "", reasoning: false, input: ["text"], contextWindow: 100_000, maxTokens: 1000, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, ...more } };
}

type Options = Omit<StreamOptions, "apiKey" | "timeouts">;

/** One answer of the scripted model. */
export type Step = (o: { spec: ModelSpec; request: ModelRequest; options: Options; n: number }) => Promise<StreamResult> | StreamResult;

export function assistant({ model }: ModelSpec, more: Partial<AssistantMessage>): AssistantMessage {
  return { role: "assistant", content: [], api: model.api, provider: model.provider, model: model.id, usage: noUsage(), stopReason: "stop", timestamp: Date.now(), ...more };
}

/** Answers with a text, in one delta. */
export function says(text: string, usage: Partial<Usage> = {}): Step {
  return ({ spec, options }) => {
    const used = { ...noUsage(), ...usage };
    options.emit({ type: "text_start", contentIndex: 0 }, used);
    options.emit({ type: "text_delta", contentIndex: 0, delta: text }, used);
    options.emit({ type: "text_end", contentIndex: 0, content: text }, used);
    return { message: assistant(spec, { content: [{ type: "text", text }], usage: used }) };
  };
}

let made = 0;
export function call(name: string, args: Record<string, unknown> = {}, id = `call-${++made}`): ToolCall {
  return { type: "toolCall", id, name, arguments: args };
}

/** Answers with tool calls. */
export function asks(...calls: ToolCall[]): Step {
  return ({ spec }) => ({ message: assistant(spec, { content: calls, stopReason: "toolUse" }) });
}

export function fails(failure: Partial<Failure> & { kind: Failure["kind"] }): Step {
  return ({ spec }) => {
    const whole = { message: `failed: ${failure.kind}`, ...failure };
    return { message: assistant(spec, { stopReason: "error", errorMessage: whole.message }), failure: whole };
  };
}

/** Says a first word and then nothing more until it is aborted. */
export function hangs(text = "partial"): Step {
  return ({ spec, options }) => new Promise((resolve) => {
    options.emit({ type: "text_start", contentIndex: 0 }, noUsage());
    options.emit({ type: "text_delta", contentIndex: 0, delta: text }, noUsage());
    const end = () => resolve({ message: assistant(spec, { content: [{ type: "text", text }], stopReason: "aborted", errorMessage: "Aborted" }) });
    if (options.signal.aborted) end();
    else options.signal.addEventListener("abort", end, { once: true });
  });
}

export function tool(name: string, run: (args: any, context: ToolContext) => ToolResult | Promise<ToolResult>, parameters: () => z.ZodType = () => z.looseObject({})): Tool {
  return { name, description: `does ${name}`, snippet: name, parameters, run: async (args, context) => run(args, context) };
}

export function text(words: string): ToolResult {
  return { content: [{ type: "text", text: words }] };
}

/** What the system says when a disk is full. */
export function diskFull(): Error {
  return Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
}

/** A promise with its handles. */
export function gate<T = void>(): { promise: Promise<T>; open(value: T): void } {
  let open!: (value: T) => void;
  const promise = new Promise<T>((resolve) => { open = resolve; });
  return { promise, open };
}

export interface RigOptions {
  steps?: Step[];
  tools?: Tool[];
  settings?: Partial<AgentSettings>;
  spec?: ModelSpec | undefined;
  specs?: ModelSpec[];
  level?: ThinkingLevel;
  session?: Session;
  more?: Partial<AgentOptions>;
}

/** An agent with a scripted model and a session in memory. */
export function rig(o: RigOptions = {}) {
  const events: AgentEvent[] = [];
  const requests: ModelRequest[] = [];
  const watchers = new Set<() => void>();
  const steps = [...(o.steps ?? [])];
  const used = "spec" in o ? o.spec : spec();
  const specs = o.specs ?? (used ? [used] : []);
  const session = o.session ?? Session.create({ cwd: process.cwd(), dir: null });
  const children = new Children({ env: process.env, hiddenNames: new Set() });
  const agent = new Agent(session, used, o.level ?? "off", {
    emit: (event) => {
      events.push(event);
      for (const watcher of watchers) watcher();
    },
    models: {
      available: () => specs.map((one) => one.model),
      find: (provider, id) => specs.find(({ model }) => model.provider === provider && model.id === id),
      hasKey: (one) => one.model.name !== "no key",
      stream: async (one, request, options) => {
        requests.push({ ...request, messages: [...request.messages] });
        const step = steps.shift() ?? says("done");
        return step({ spec: one, request, options, n: requests.length });
      },
    },
    children: async () => children,
    tools: async () => o.tools ?? [],
    systemPrompt: async () => "You are a test.",
    ...o.more,
    settings: {
      steeringMode: "one-at-a-time", followUpMode: "one-at-a-time",
      retry: { enabled: true, maxRetries: 3, baseDelayMs: 1, maxDelayMs: 60_000 },
      compaction: { enabled: false, reserveTokens: 1000, keepRecentTokens: 1000 },
      ...o.settings,
    },
  });
  return {
    agent, session, events, requests, steps,
    /** Resolves once an event fits. */
    event(fits: (event: AgentEvent) => boolean): Promise<AgentEvent> {
      const found = events.find(fits);
      if (found) return Promise.resolve(found);
      return new Promise((resolve) => {
        const watcher = () => {
          const last = events.at(-1);
          if (!last || !fits(last)) return;
          watchers.delete(watcher);
          resolve(last);
        };
        watchers.add(watcher);
      });
    },
    /** Prompts and waits until the run is settled. */
    async run(words: string, more: Partial<Said> = {}) {
      start(agent, words, more);
      await agent.whenIdle();
      return events.at(-1);
    },
    texts: () => session.messages().map((message: AgentMessage) => ("content" in message ? textOf(message.content) : "")),
  };
}

/** Accepts a prompt and lets its run begin. */
export function start(agent: Agent, text: string, more: Partial<Said> = {}): void {
  const taken = agent.prompt({ text, ...more });
  if (taken.disposition === "started") taken.start();
}

/** The types of events, those of messages with the role; updates of a kind once. */
export function story(events: readonly AgentEvent[]): string[] {
  const told: string[] = [];
  for (const event of events) {
    const name = event.type === "message_start" || event.type === "message_end" ? `${event.type}:${event.message.role}` : event.type;
    if (name !== told.at(-1) || !name.endsWith("update")) told.push(name);
  }
  return told;
}
