import fs from "node:fs";
import path from "node:path";
import type { Agent } from "../agent/agent.ts";
import type { LoopEvent, LoopScheduler } from "../agent/loops.ts";

/** Where durable loops of a session stand; the same name that LoopStore uses. */
const STORE_ENDING = ".loops.json";

export interface SessionLoopsOptions {
  agent: Agent;
  emit(event: LoopEvent): void;
  /** True while a command is about to begin something: a loop lets it go first. */
  isExpected(): boolean;
}

/** The loops of the present session. The scheduler is loaded with the first loop, or when the session has stored ones. */
export class SessionLoops {
  #scheduler: Promise<LoopScheduler> | undefined;

  constructor(private readonly o: SessionLoopsOptions) {}

  scheduler(): Promise<LoopScheduler> {
    return (this.#scheduler ??= this.#make());
  }

  /** Brings back what the session that is open now has stored. */
  async arrive(): Promise<void> {
    const { file } = this.o.agent.session;
    if (file !== undefined && fs.existsSync(path.resolve(file + STORE_ENDING))) (await this.scheduler()).restore();
  }

  /** Ends the loops of a session that goes. */
  async leave(reason: "session_changed" | "shutdown"): Promise<void> {
    const going = this.#scheduler;
    this.#scheduler = undefined;
    (await going)?.close(reason);
  }

  /** No more firings: the end of input has come. */
  async pause(): Promise<void> {
    (await this.#scheduler)?.pause();
  }

  async #make(): Promise<LoopScheduler> {
    const [{ LoopScheduler }, { LoopStore }] = await Promise.all([import("../agent/loops.ts"), import("../agent/loop-store.ts")]);
    const { agent, emit, isExpected } = this.o;
    const { file } = agent.session;
    return new LoopScheduler({
      emit,
      ...(file === undefined ? {} : { store: new LoopStore(file) }),
      host: {
        isIdle: () => agent.isIdle && !isExpected(),
        whenIdle: () => agent.whenIdle(),
        fire: (message) => agent.injectRun(message),
        abort: () => void agent.abort(),
      },
    });
  }
}
