import { Agent } from "./agent/agent.ts";
import type { AgentEvent } from "./agent/events.ts";
import type { LoopEvent, LoopScheduler } from "./agent/loops.ts";
import { stored } from "./agent/stored.ts";
import { TodoList, type TodoEvent } from "./agent/todos.ts";
import { hiddenNames, readAgain, readConfiguration, type Configuration, type Launch } from "./app/configuration.ts";
import { LazyChildren } from "./app/lazy-children.ts";
import { askedModel, chooseModel, modelOf, namedModel } from "./app/model-choice.ts";
import { nameFirst, openFirst } from "./app/session-choice.ts";
import { SessionLoops } from "./app/session-loops.ts";
import { Sessions } from "./app/sessions.ts";
import { stateOf, statsOf } from "./app/state.ts";
import { log } from "./base/log.ts";
import { Refusal } from "./base/refusal.ts";
import { VERSION } from "./base/version.ts";
import type { Choice } from "./llm/pattern.ts";
import { ModelRegistry } from "./llm/registry.ts";
import type { ProcessEvent, Supervisor } from "./process/supervisor.ts";
import type { Session } from "./session/session.ts";
import type { Tool } from "./tools/tool.ts";

/** Between TERM and KILL for the processes of a session that another one replaces. */
const REPLACED_GRACE_MS = 1000;

/** Told whenever the session is another: at the start and after each replacement (protocol.md, section 1). */
export interface SessionStarted {
  type: "session_started";
  data: { version: 3; id: string; timestamp: string; cwd: string; protocolVersion: 1; rpiVersion: string; sessionFile?: string };
}

export type AppEvent = SessionStarted | AgentEvent | TodoEvent | LoopEvent | ProcessEvent;

export interface AppOptions extends Launch {
  emit(event: AppEvent): void;
  /** Undefined while the reader keeps up; else resolves when it has caught up (protocol.md, Pressure). */
  ready(): Promise<void> | undefined;
  /** True while output that can be had later need not be told (protocol.md, section 8). */
  pressed(): boolean;
}

/** Everything that one rpi is made of, put together from flags, settings and files, and ended in reverse order. */
export class App {
  readonly agent: Agent;
  readonly models: ModelRegistry;
  readonly todos: TodoList;
  readonly sessions: Sessions;
  /** True while a command waits to begin something; the wire sets it. */
  isExpected = (): boolean => false;
  readonly #children: LazyChildren;
  readonly #loops: SessionLoops;
  readonly #told = new Set<string>();
  #tools: Promise<Tool[]> | undefined;

  private constructor(
    private readonly options: AppOptions,
    private readonly configuration: Configuration,
    session: Session,
    asked: Choice | undefined,
  ) {
    const { settings } = configuration;
    this.models = configuration.models;
    this.#children = new LazyChildren({ env: options.env, hiddenNames: () => hiddenNames(configuration.settings), emit: options.emit, pressed: options.pressed });
    const { spec, level } = chooseModel(configuration, options.flags, session, asked);
    this.agent = new Agent(session, spec, level, {
      emit: options.emit,
      ready: options.ready,
      models: this.models,
      children: () => this.#children.children(),
      tools: () => this.tools(),
      systemPrompt: async (tools) => (await import("./app/instructions.ts")).systemPrompt(tools, configuration, options.flags, this.agent.session.cwd, (words) => this.#noticeOnce("context_file", words)),
      settings,
      scope: configuration.scope,
    });
    this.todos = new TodoList({ store: (state) => stored("The todos were not changed", () => this.agent.session.append({ type: "todo_snapshot", state })), emit: options.emit });
    this.#loops = new SessionLoops({ agent: this.agent, emit: options.emit, isExpected: () => this.isExpected() });
    this.sessions = new Sessions({
      configuration,
      agent: this.agent,
      leave: async () => {
        await Promise.all([this.#loops.leave("session_changed"), this.#children.stopProcesses(REPLACED_GRACE_MS)]);
      },
      left: (next) => modelOf(configuration, next, this.agent),
      arrive: async () => {
        await this.#begin();
        await this.announce();
      },
    });
  }

  /** Throws what makes a start impossible; the text says what to do. */
  static async start(options: AppOptions): Promise<App> {
    const configuration = await readConfiguration(options);
    // Before a session is made that would be left behind.
    const asked = askedModel(configuration, options.flags);
    const session = await openFirst(configuration, options);
    try {
      const app = new App(options, configuration, session, asked);
      await app.#begin({ hasModel: options.flags.model !== undefined });
      // Behind the model and the level that a new session begins with.
      nameFirst(session, options.flags.name);
      return app;
    } catch (error) {
      session.close();
      throw error;
    }
  }

  /** Tells which session this is, and what was skipped, repaired or brought back on the way to it. */
  async announce(): Promise<void> {
    const { session } = this.agent;
    this.options.emit({
      type: "session_started",
      data: {
        version: 3, id: session.id, timestamp: session.createdAt, cwd: session.cwd, protocolVersion: 1, rpiVersion: VERSION,
        ...(session.file === undefined ? {} : { sessionFile: session.file }),
      },
    });
    for (const { code, message, level } of [...this.configuration.notices.splice(0), ...session.notices]) this.#notice(code, message, level);
    this.agent.tellQueue();
    await this.#loops.arrive();
  }

  /** Reads settings and models again; what could not be used is told, and what was read before stands. */
  async reload(): Promise<{ changed: string[] }> {
    if (!this.agent.isIdle) throw new Refusal("busy", "Settings are read again only at rest: wait for agent_settled, or abort");
    const { configuration } = this;
    const changed = await readAgain(configuration, this.options.flags);
    for (const { code, message, level } of configuration.notices.splice(0)) this.#notice(code, message, level);
    if (changed.length > 0) {
      this.#tools = undefined;
      this.agent.reload({ settings: configuration.settings, scope: configuration.scope });
    }
    return { changed };
  }

  loops(): Promise<LoopScheduler> {
    return this.#loops.scheduler();
  }

  supervisor(): Promise<Supervisor> {
    return this.#children.supervisor();
  }

  /** The end of input: nothing begins by itself any more, what was begun goes on. */
  pause(): Promise<void> {
    return this.#loops.pause();
  }

  state() {
    return stateOf(this.agent, this.todos.phases);
  }

  stats() {
    return statsOf(this.agent);
  }

  setModel(provider: string, modelId: string) {
    return this.agent.setModel(namedModel(this.configuration, provider, modelId));
  }

  /** Stops every child that is left, for good: TERM, `graceMs`, KILL, until all are gone and told. */
  stopChildren(graceMs: number): Promise<void> {
    return this.#children.stop(graceMs);
  }

  /** Ends what the app is made of; nothing of it may be used afterwards. `stopped`: children are being stopped already. */
  async close(graceMs: number, stopped: Promise<void> = this.stopChildren(graceMs)): Promise<void> {
    await this.#loops.leave("shutdown");
    await stopped;
    this.agent.session.sync();
    this.agent.session.close();
  }

  /** Loads what the first run needs, in pieces between which commands are answered. Rejects with what that run would tell. */
  async warm(): Promise<void> {
    const { model } = this.agent;
    if (model) await this.models.warm(model);
    const [tools, { toolSchema }] = await Promise.all([this.tools(), import("./tools/schema.ts"), import("./app/instructions.ts")]);
    for (const tool of tools) {
      toolSchema(tool);
      await new Promise(setImmediate);
    }
  }

  tools(): Promise<Tool[]> {
    this.#tools ??= this.#loadTools();
    return this.#tools;
  }

  /**
   * Takes up the session that the agent has now. A new one says first with which model and level it begins.
   * `hasModel`: the model was chosen on purpose, whatever the session was left with.
   */
  async #begin({ hasModel = false } = {}): Promise<void> {
    const { session, model, thinkingLevel } = this.agent;
    if (!(await this.todos.restore(session.todos()))) this.configuration.notices.push({ level: "warning", code: "bad_todos", message: "The session's todos could not be read; the list is empty" });
    if (session.leafId !== null) {
      const left = session.modelChoice();
      if (left && (left.provider !== model?.model.provider || left.modelId !== model.model.id) && !hasModel) {
        this.configuration.notices.push({ level: "warning", code: "model_unavailable", message: `The session's model ${left.provider}/${left.modelId} cannot be used here; it goes on with ${model ? `${model.model.provider}/${model.model.id}` : "none"}` });
      }
      return;
    }
    if (model) session.append({ type: "model_change", provider: model.model.provider, modelId: model.model.id });
    session.append({ type: "thinking_level_change", thinkingLevel });
  }

  async #loadTools(): Promise<Tool[]> {
    const { tools, settings } = this.configuration;
    const { loadTools } = await import("./tools/catalog.ts");
    return loadTools(tools, {
      children: await this.#children.children(),
      shellPath: settings.shellPath,
      ...(tools.includes("process") ? { process: await this.supervisor() } : {}),
      todo: async () => (await import("./agent/todo-tool.ts")).todoTool(this.todos),
    });
  }

  /** Tells what was skipped, clamped or repaired. */
  #notice(code: string, message: string, level: "info" | "warning" = "warning"): void {
    this.options.emit({ type: "notice", level, code, message });
    log(`rpi: ${message}`);
  }

  /** For what is looked at again and again: the same words are told once. */
  #noticeOnce(code: string, message: string): void {
    if (this.#told.has(message)) return;
    this.#told.add(message);
    this.#notice(code, message);
  }
}
