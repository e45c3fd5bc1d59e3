import { logBug } from "../base/log.ts";
import { Refusal } from "../base/refusal.ts";
import type { ImageBlock, TextBlock } from "../llm/message.ts";
import type { Model, ModelSpec, ThinkingLevel } from "../llm/model.ts";
import type { Choice } from "../llm/pattern.ts";
import type { ModelRegistry } from "../llm/registry.ts";
import type { Children } from "../process/children.ts";
import type { CustomMessage } from "../session/message.ts";
import type { Session } from "../session/session.ts";
import type { Tool } from "../tools/tool.ts";
import { DirectBash, type BashCommand, type BashResult } from "./direct-bash.ts";
import type { AgentEvent } from "./events.ts";
import { ModelChoice } from "./model-choice.ts";
import { MessageQueue, stored, type QueueKind, type QueueMode, type QueueTexts } from "./queue.ts";
import type { RetrySettings } from "./retry.ts";
import { Run, type Opening, type RunEnd, type RunHost } from "./run.ts";
import type { Equipment } from "./turn.ts";

export interface AgentSettings {
  steeringMode: QueueMode;
  followUpMode: QueueMode;
  retry: RetrySettings;
  compaction: { enabled: boolean; reserveTokens: number; keepRecentTokens: number };
  shellPath?: string;
}

export interface AgentOptions {
  /** Told each event at once, in order. What it throws is logged and changes nothing. */
  emit(event: AgentEvent): void;
  /** See StreamOptions.ready. */
  ready?(): Promise<void> | undefined;
  models: Pick<ModelRegistry, "available" | "find" | "hasKey" | "stream">;
  children: Children;
  /** The active tools; asked once a run. */
  tools(): Promise<Tool[]>;
  systemPrompt(tools: Tool[]): Promise<string>;
  settings: AgentSettings;
  /** The models of `--models`, in which cycling stays. */
  scope?: readonly Choice[] | undefined;
  now?(): number;
}

/** What a user says. */
export interface Said {
  text: string;
  images?: readonly ImageBlock[] | undefined;
  /** Told again in `promptIds` of the run that answers. */
  requestId?: string | number | undefined;
}

/** `start` lets the run begin: no event of it comes before. */
export type Accepted = { disposition: "started"; start(): void } | { disposition: "queued" };

/** One conversation and what is going on in it. Everything it accepts is on disk before the call returns. */
export class Agent {
  /** These hold for this session only. */
  steeringMode: QueueMode;
  followUpMode: QueueMode;
  autoRetry: boolean;
  autoCompaction: boolean;
  #session: Session;
  #queue: MessageQueue;
  #run: Run | undefined;
  readonly #choice: ModelChoice;
  readonly #bash: DirectBash;
  readonly #emit: (event: AgentEvent) => void;
  readonly #now: () => number;

  constructor(session: Session, spec: ModelSpec | undefined, level: ThinkingLevel, private readonly options: AgentOptions) {
    const { settings } = options;
    this.#session = session;
    this.#now = options.now ?? Date.now;
    this.#emit = (event) => {
      try {
        options.emit(event);
      } catch (error) {
        logBug(`a listener of ${event.type}`, error);
      }
    };
    this.steeringMode = settings.steeringMode;
    this.followUpMode = settings.followUpMode;
    this.autoRetry = settings.retry.enabled;
    this.autoCompaction = settings.compaction.enabled;
    this.#queue = new MessageQueue(session, this.#emit);
    this.#choice = new ModelChoice({ models: options.models, session: () => this.#session, emit: this.#emit }, spec, level, options.scope);
    this.#bash = new DirectBash({
      session: () => this.#session,
      children: options.children,
      shellPath: settings.shellPath,
      emit: this.#emit,
      ready: options.ready,
      now: this.#now,
      mustWait: () => this.#run !== undefined,
    });
  }

  get session(): Session {
    return this.#session;
  }

  get model(): ModelSpec | undefined {
    return this.#choice.model;
  }

  get thinkingLevel(): ThinkingLevel {
    return this.#choice.level;
  }

  /** From the acceptance of a prompt until its run is settled. */
  get isStreaming(): boolean {
    return this.#run !== undefined;
  }

  get isIdle(): boolean {
    return !this.#run && !this.#bash.isRunning;
  }

  get pendingMessageCount(): number {
    return this.#queue.size;
  }

  get queued(): QueueTexts {
    return this.#queue.texts();
  }

  /** Accepts or refuses at once. Busy, it queues where `streamingBehavior` says how. */
  prompt(o: Said & { streamingBehavior?: "steer" | "followUp" | undefined }): Accepted {
    const content = contentOf(o);
    if (this.isStreaming) {
      if (!o.streamingBehavior) throw new Refusal("busy", 'A run is active. Give streamingBehavior "steer" or "followUp" to queue the message, or wait for agent_settled.');
      this.#queue.add(o.streamingBehavior, content, o.requestId);
      return { disposition: "queued" };
    }
    this.#choice.usable();
    const message = { role: "user", content, timestamp: this.#now() } as const;
    stored("The prompt was not accepted", () => this.#session.append({ type: "message", message }));
    const run = this.#begin({ messages: [message], requestId: o.requestId });
    return { disposition: "started", start: () => run.start() };
  }

  /** Delivered before the next call of the model. */
  steer(o: Said): void {
    this.#queue.add("steer", contentOf(o), o.requestId);
  }

  /** Delivered when the agent would stop. */
  followUp(o: Said): void {
    this.#queue.add("followUp", contentOf(o), o.requestId);
  }

  clearQueue(): QueueTexts {
    return this.#queue.clear();
  }

  /** Starts a run with a message of rpi's own at once; refused unless the agent rests. */
  injectRun(message: CustomMessage): Promise<RunEnd> {
    if (this.isStreaming) throw new Refusal("busy", "A run is active.");
    this.#choice.usable();
    const { role: _, timestamp: __, ...body } = message;
    stored("The message was not accepted", () => this.#session.append({ type: "custom_message", ...body }));
    const run = this.#begin({ messages: [message] });
    run.start();
    return run.ended;
  }

  /** Stops the run and direct commands; resolves when the agent rests and has said so. The queues stay. */
  async abort(graceMs?: number): Promise<void> {
    this.#run?.abort(graceMs);
    this.#bash.abort();
    await this.whenIdle();
  }

  /** Gives up on a retry that is waited for; the run ends with its last failure. */
  abortRetry(): void {
    this.#run?.abortRetry();
  }

  /** From the next model call on; the level asked for last is fitted to it. */
  setModel(spec: ModelSpec): Model {
    return this.#choice.setModel(spec);
  }

  cycleModel(): { model: Model; thinkingLevel: ThinkingLevel; isScoped: boolean } | null {
    return this.#choice.cycleModel();
  }

  levels(): ThinkingLevel[] {
    return this.#choice.levels;
  }

  setLevel(level: ThinkingLevel): { requested: ThinkingLevel; level: ThinkingLevel; clamped: boolean } {
    return this.#choice.setLevel(level);
  }

  cycleLevel(): { level: ThinkingLevel } | null {
    return this.#choice.cycleLevel();
  }

  rename(name: string): void {
    const trimmed = name.replace(/[\r\n]+/g, " ").trim();
    if (trimmed === "") throw new Refusal("invalid", "Session name cannot be empty");
    stored("The session was not renamed", () => this.#session.append({ type: "session_info", name: trimmed }));
    this.#emit({ type: "session_info_changed", name: trimmed });
  }

  bash(command: BashCommand): Promise<BashResult> {
    return this.#bash.run(command);
  }

  abortBash(): void {
    this.#bash.abort();
  }

  /** Resolves when no run, no compaction and no direct command is left. */
  async whenIdle(): Promise<void> {
    while (!this.isIdle) {
      await this.#run?.ended;
      await this.#bash.whenIdle();
    }
  }

  /** Goes on with another session; only at rest. What waits in the queue stays with the old one. */
  replaceSession(session: Session): void {
    if (!this.isIdle) throw new Error("a session can only be replaced at rest");
    const hadQueue = this.#queue.size > 0;
    this.#session = session;
    this.#queue = new MessageQueue(session, this.#emit);
    if (hadQueue || this.#queue.size) this.#emit({ type: "queue_update", ...this.#queue.texts() });
  }

  #begin(opening: Opening): Run {
    const run = new Run(this.#host(), opening);
    this.#run = run;
    return run;
  }

  #host(): RunHost {
    const { options } = this;
    let equipment: Promise<Equipment> | undefined;
    return {
      session: this.#session,
      queue: this.#queue,
      emit: this.#emit,
      ready: options.ready && (() => options.ready?.()),
      now: this.#now,
      mode: (kind: QueueKind) => (kind === "steer" ? this.steeringMode : this.followUpMode),
      choice: () => ({ spec: this.#choice.usable(), level: this.#choice.level }),
      equipment: () => (equipment ??= equip(options)),
      stream: (spec, request, o) => options.models.stream(spec, request, o),
      retry: () => ({ ...options.settings.retry, enabled: this.autoRetry }),
      afterResults: () => this.#bash.flush(),
      compactsOnOverflow: () => false,
      compactIfFull: () => undefined,
      compactAfterOverflow: () => Promise.resolve(false),
      over: (run, end) => this.#over(run, end),
    };
  }

  #over(run: Run, end: RunEnd): void {
    if (this.#run !== run) return;
    this.#run = undefined;
    this.#bash.flush();
    const { promptIds, ...rest } = end;
    this.#emit({ type: "agent_settled", ...rest, ...(promptIds.length > 0 && { promptIds }) });
  }
}

function contentOf({ text, images = [] }: Said): (TextBlock | ImageBlock)[] {
  if (text.trim() === "" && images.length === 0) throw new Refusal("invalid", "The message is empty: it needs text or an image.");
  return text === "" ? [...images] : [{ type: "text", text }, ...images];
}

async function equip(options: AgentOptions): Promise<Equipment> {
  const tools = await options.tools();
  const [systemPrompt, { toolSchema }] = await Promise.all([options.systemPrompt(tools), import("../tools/schema.ts")]);
  return { tools: new Map(tools.map((tool) => [tool.name, tool])), schemas: tools.map(toolSchema), systemPrompt };
}
