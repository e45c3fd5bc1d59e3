import { textOf, type UserMessage } from "../llm/message.ts";
import type { QueuedMessage } from "../session/queue.ts";
import type { Session } from "../session/session.ts";
import type { AgentEvent } from "./events.ts";
import { stored } from "./stored.ts";

export type QueueKind = QueuedMessage["kind"];

/** `all`: everything that waits goes in together; `one-at-a-time`: one message a model call. */
export const QUEUE_MODES = ["all", "one-at-a-time"] as const;
export type QueueMode = (typeof QUEUE_MODES)[number];

export interface QueueTexts {
  steering: string[];
  followUp: string[];
}

/**
 * Messages that were accepted and wait for their delivery. They stand in the session, not here: each is on disk
 * before it counts as accepted, and the entry that delivers it names it. So it is in the queue, in the transcript
 * or in the result of `clear`, in one of them only, whenever the process ends.
 */
export class MessageQueue {
  constructor(
    private readonly session: Session,
    private readonly emit: (event: AgentEvent) => void,
  ) {}

  get size(): number {
    return this.session.pendingQueue().length;
  }

  texts(): QueueTexts {
    const texts: QueueTexts = { steering: [], followUp: [] };
    for (const one of this.session.pendingQueue()) (one.kind === "steer" ? texts.steering : texts.followUp).push(textOf(one.content));
    return texts;
  }

  /** Accepts a message; refused when it cannot be kept. */
  add(kind: QueueKind, content: QueuedMessage["content"], requestId?: string | number): void {
    const asked = requestId === undefined ? {} : { requestId };
    stored("The message was not queued", () => this.session.append({ type: "queue", op: "add", kind, content, ...asked }));
    this.#tell();
  }

  /** Puts the oldest message of a kind into the transcript. Throws when it cannot be written: then it still waits. */
  deliver(kind: QueueKind, at: number): { message: UserMessage; requestId?: string | number } | undefined {
    const next = this.session.pendingQueue().find((one) => one.kind === kind);
    if (!next) return undefined;
    const message: UserMessage = { role: "user", content: next.content, timestamp: at };
    this.session.append({ type: "message", message, queueId: next.id });
    this.#tell();
    return next.requestId === undefined ? { message } : { message, requestId: next.requestId };
  }

  /** Hands every waiting message back; refused when that cannot be written, for then they would come back. */
  clear(): QueueTexts {
    const texts = this.texts();
    const ids = this.session.pendingQueue().map((one) => one.id);
    if (!ids.length) return texts;
    stored("The queue was not cleared", () => this.session.append({ type: "queue", op: "clear", ids }));
    this.#tell();
    return texts;
  }

  #tell(): void {
    this.emit({ type: "queue_update", ...this.texts() });
  }
}
