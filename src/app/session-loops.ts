import type { Agent } from "../agent/agent.ts";
import type { LoopEvent, LoopScheduler } from "../agent/loops.ts";
import { loopsFile } from "../agent/loops-file.ts";

/** A command that is about to begin something tells nobody when it has; a loop that lets it go first looks this often. */
const LOOK_AGAIN_MS = 50;

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
    if (file !== undefined && (await Bun.file(loopsFile(file)).exists())) (await this.scheduler()).restore();
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
    const { session } = agent;
    const { file } = session;
    return new LoopScheduler({
      emit,
      ...(file === undefined ? {} : { store: new LoopStore(file, () => session.keep()) }),
      host: {
        isIdle: () => agent.isIdle && !isExpected(),
        whenIdle: async () => {
          await agent.whenIdle();
          while (isExpected()) {
            await Bun.sleep(LOOK_AGAIN_MS);
            await agent.whenIdle();
          }
        },
        fire: (message) => agent.injectRun(message),
        abort: () => void agent.abort(),
      },
    });
  }
}
