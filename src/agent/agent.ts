import { logBug } from "../base/log.ts";
import { Refusal } from "../base/refusal.ts";
import type { ImageBlock, TextBlock } from "../llm/message.ts";
import type { Model, ModelSpec, ThinkingLevel } from "../llm/model.ts";
import type { Choice } from "../llm/pattern.ts";
import type { ModelRegistry } from "../llm/registry.ts";
import type { Children } from "../process/children.ts";
import type { CustomMessage } from "../session/message.ts";
import { sessionName } from "../session/name.ts";
import type { Session } from "../session/session.ts";
import type { Tool } from "../tools/tool.ts";
import { Compaction } from "./compaction.ts";
import { estimateOverhead } from "./compaction-estimate.ts";
import { ContextWatch, type ContextUse } from "./context-use.ts";
import { DirectBash, type BashCommand, type BashResult } from "./direct-bash.ts";
import type { AgentEvent, CompactionResult } from "./events.ts";
import { Learned } from "./learned.ts";
import { messagesForModel } from "./messages-for-model.ts";
import { ModelChoice } from "./model-choice.ts";
import { MessageQueue, type QueueKind, type QueueMode, type QueueTexts } from "./queue.ts";
import { RequestedCompaction } from "./requested-compaction.ts";
import type { RetrySettings } from "./retry.ts";
import { GRACE_MS, Run, type Opening, type RunEnd, type RunHost } from "./run.ts";
import { stored } from "./stored.ts";
import { syncSoon } from "./sync-soon.ts";
import type { Equipment } from "./turn.ts";

/** The settings that the agent works by. */
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
  /** Loaded with the first of them. */
  children(): Promise<Children>;
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
  #settings: AgentSettings;
  /** What was told of the queue is of a session that is gone. */
  #isQueueStale = false;
  readonly #context = new ContextWatch();
  readonly #compaction: Compaction;
  readonly #requested: RequestedCompaction;
  readonly #learned = new Learned((event) => this.#emit(event));
  readonly #choice: ModelChoice;
  readonly #bash: DirectBash;
  readonly #emit: (event: AgentEvent) => void;
  readonly #now: () => number;

  constructor(session: Session, spec: ModelSpec | undefined, level: ThinkingLevel, private readonly options: Readonly<AgentOptions>) {
    const { settings } = options;
    this.#settings = settings;
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
    this.#compaction = new Compaction({
      session: () => this.#session,
      context: this.#context,
      settings: () => this.#settings.compaction,
      choice: () => this.#current(),
      stream: (spec, request, o) => options.models.stream(spec, request, o),
      retry: () => this.#retry(),
      emit: this.#emit,
    });
    this.#requested = new RequestedCompaction({
      compaction: this.#compaction,
      needModel: () => void this.#choice.usable(),
      endRun: async () => {
        this.#run?.abort();
        await this.#run?.ended;
      },
      hasQueued: () => this.#queue.size > 0,
      runQueue: () => {
        if (!this.#run) this.#begin({ messages: [] }).start();
      },
    });
    this.#bash = new DirectBash({
      session: () => this.#session,
      children: options.children,
      shellPath: () => this.#settings.shellPath,
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

  get isCompacting(): boolean {
    return this.#compaction.isRunning;
  }

  get isIdle(): boolean {
    return !this.#run && !this.#requested.isPending && !this.#bash.isRunning;
  }

  get pendingMessageCount(): number {
    return this.#queue.size;
  }

  get queued(): QueueTexts {
    return this.#queue.texts();
  }

  contextUsage(): ContextUse {
    return this.#context.use(this.#session, this.model);
  }

  /** Accepts or refuses at once. Busy, it queues where `streamingBehavior` says how. */
  prompt(o: Said & { streamingBehavior?: "steer" | "followUp" | undefined }): Accepted {
    const content = contentOf(o);
    if (this.#run || this.#requested.isActive) {
      const what = this.#run ? "A run is active" : "A compaction is under way";
      if (!o.streamingBehavior) throw new Refusal("busy", `${what}. Give streamingBehavior "steer" or "followUp" to queue the message, or wait for its end.`);
      this.#enqueue(o.streamingBehavior, content, o.requestId);
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
    this.#enqueue("steer", contentOf(o), o.requestId);
  }

  /** Delivered when the agent would stop. */
  followUp(o: Said): void {
    this.#enqueue("followUp", contentOf(o), o.requestId);
  }

  clearQueue(): QueueTexts {
    return this.#queue.clear();
  }

  /** Starts a run with a message of rpi's own at once; refused unless the agent rests. */
  injectRun(message: CustomMessage): Promise<RunEnd> {
    if (!this.isIdle) throw new Refusal("busy", "The agent is not at rest.");
    this.#choice.usable();
    const { role: _, timestamp: __, ...body } = message;
    stored("The message was not accepted", () => this.#session.append({ type: "custom_message", ...body }));
    const run = this.#begin({ messages: [message] });
    run.start();
    return run.ended;
  }

  /**
   * Stops the run, a compaction and direct commands; resolves when they have ended and told so. The queues stay.
   * `graceMs`: how long a tool or a model may go on before it is left alone.
   */
  async abort(graceMs = GRACE_MS): Promise<void> {
    const run = this.#run;
    run?.abort(graceMs);
    await Promise.allSettled([run?.ended, this.#requested.abort(graceMs), this.#bash.abort()]);
  }

  /**
   * Replaces the older part of the context by a summary; a run that is active is aborted first. Refused at once while
   * another compaction is under way. `begun` is called once, when it has begun or cannot.
   * What is queued meanwhile runs afterwards, unless this is aborted.
   */
  compact(instructions?: string, begun: () => void = () => {}): Promise<CompactionResult> {
    return this.#requested.run(instructions, begun);
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
    const kept = sessionName(name);
    stored("The session was not renamed", () => this.#session.append({ type: "session_info", name: kept }));
    this.#emit({ type: "session_info_changed", name: kept });
  }

  bash(command: BashCommand): Promise<BashResult> {
    return this.#bash.run(command);
  }

  abortBash(): void {
    void this.#bash.abort();
  }

  /** Resolves when no run, no compaction and no direct command is left. */
  async whenIdle(): Promise<void> {
    while (!this.isIdle) {
      await this.#run?.ended;
      await this.#requested.whenOver();
      await this.#bash.whenIdle();
    }
  }

  /**
   * Goes on with another session, and with the model and level that it was left with, if they are given. Refused
   * during a run or a compaction; a direct command goes on, and its message goes to the session that there is at its
   * end. What waits in the queue stays with the old one.
   */
  replaceSession(session: Session, left?: { spec: ModelSpec | undefined; level: ThinkingLevel }): void {
    if (this.#run || this.#requested.isPending) throw new Refusal("busy", "The session cannot be replaced while a run or a compaction is under way.");
    if (left) this.#choice.restore(left.spec, left.level);
    this.#isQueueStale ||= this.#queue.size > 0;
    this.#session = session;
    this.#queue = new MessageQueue(session, this.#emit);
  }

  /**
   * Takes settings that have changed, from the next use of each on; what commands have set for this session stays.
   * The model is looked up again, since what is known of it may have changed.
   */
  reload({ settings, scope }: Pick<AgentOptions, "settings" | "scope">): void {
    this.#settings = settings;
    this.#choice.reload(scope ?? []);
  }

  /** Tells the queue that a session came with, if it is not what was told last. */
  tellQueue(): void {
    if (!this.#isQueueStale && this.#queue.size === 0) return;
    this.#isQueueStale = false;
    this.#emit({ type: "queue_update", ...this.#queue.texts() });
  }

  #enqueue(kind: QueueKind, content: (TextBlock | ImageBlock)[], requestId: string | number | undefined): void {
    this.#queue.add(kind, content, requestId);
    this.#requested.wantRun();
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
      mode: (kind) => (kind === "steer" ? this.steeringMode : this.followUpMode),
      choice: () => this.#current(),
      equipment: () => (equipment ??= this.#equip()),
      stream: (spec, request, o) => options.models.stream(spec, request, o),
      fit: (request, model) => this.#learned.fit(request, model),
      learned: (failure, { provider, model }) => this.#learned.learn(failure, options.models.find(provider, model)?.model, () => messagesForModel(this.#session.messages())),
      retry: () => this.#retry(),
      afterResults: () => this.#bash.flush(),
      isFull: () => this.autoCompaction && this.#compaction.isDue(),
      whyNoRoom: () => this.#compaction.whyNoRoom(this.autoCompaction),
      overflowed: (failure) => this.#compaction.learn(failure),
      compact: (reason, signal, graceMs) => this.#compaction.run({ reason, signal, graceMs }).then(() => true, () => false),
      over: (run, end) => this.#over(run, end),
    };
  }

  /** What the next request goes to; whether there is a key shows then. */
  #current(): { spec: ModelSpec; level: ThinkingLevel } {
    return { spec: this.model ?? this.#choice.usable(), level: this.#choice.level };
  }

  #retry(): RetrySettings {
    return { ...this.#settings.retry, enabled: this.autoRetry };
  }

  async #equip(): Promise<Equipment> {
    const tools = await this.options.tools();
    const [systemPrompt, { toolSchema }] = await Promise.all([this.options.systemPrompt(tools), import("../tools/schema.ts")]);
    const schemas = tools.map(toolSchema);
    this.#context.setOverhead(estimateOverhead(systemPrompt, schemas));
    return { tools: new Map(tools.map((tool) => [tool.name, tool])), schemas, systemPrompt };
  }

  #over(run: Run, { promptIds, ...end }: RunEnd): void {
    if (this.#run !== run) return;
    this.#run = undefined;
    this.#bash.flush();
    const { file } = this.#session;
    this.#emit({ type: "agent_settled", ...end, ...(promptIds.length > 0 && { promptIds }) });
    syncSoon(file);
  }
}

function contentOf({ text, images = [] }: Said): (TextBlock | ImageBlock)[] {
  if (text.trim() === "" && images.length === 0) throw new Refusal("invalid", "The message is empty: it needs text or an image.");
  return text === "" ? [...images] : [{ type: "text", text }, ...images];
}
