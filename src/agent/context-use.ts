import type { Failure } from "../llm/failure.ts";
import type { ModelSpec } from "../llm/model.ts";
import type { AgentMessage } from "../session/message.ts";
import type { Session } from "../session/session.ts";
import { ContextMeter } from "./compaction-estimate.ts";

/** How much of the model's context window the talk fills; null where nobody knows. */
export interface ContextUse {
  tokens: number | null;
  contextWindow: number | null;
  /** 0 to 100, and more. */
  percent: number | null;
}

/** Watches how full the context is. Each message is measured once, whoever appended it. */
export class ContextWatch {
  readonly #meter = new ContextMeter();
  #seen: readonly AgentMessage[] = [];
  #count = 0;
  /** Windows that providers named when they refused a request, by model. */
  readonly #learned = new Map<string, number>();

  /** What the system prompt and the tools take, in tokens. */
  setOverhead(tokens: number): void {
    this.#meter.setOverhead(tokens);
  }

  /** Tokens in the context, guessed where no provider has counted. */
  tokens(session: Session): number {
    this.#catchUp(session);
    return this.#meter.tokens;
  }

  use(session: Session, spec: ModelSpec | undefined): ContextUse {
    this.#catchUp(session);
    const tokens = this.#meter.isMeasured ? this.#meter.tokens : null;
    const contextWindow = spec ? this.window(spec) : null;
    return { tokens, contextWindow, percent: tokens === null || !contextWindow ? null : (tokens / contextWindow) * 100 };
  }

  /** The context window of a model: what it is said to be, or less when its provider said so. */
  window({ model }: ModelSpec): number | null {
    const learned = this.#learned.get(`${model.provider}/${model.id}`);
    if (learned === undefined) return model.contextWindow;
    return model.contextWindow === null ? learned : Math.min(learned, model.contextWindow);
  }

  learn({ model }: ModelSpec, { contextWindow }: Failure): void {
    if (contextWindow !== undefined && contextWindow > 0) this.#learned.set(`${model.provider}/${model.id}`, contextWindow);
  }

  /** The session's array grows by appends; after a compaction, an edit or a change of session it is another one. */
  #catchUp(session: Session): void {
    const messages = session.messages();
    if (messages !== this.#seen || messages.length < this.#count) {
      this.#meter.reset(messages);
      this.#seen = messages;
    } else {
      for (let i = this.#count; i < messages.length; i++) this.#meter.add(messages[i]!);
    }
    this.#count = messages.length;
  }
}
