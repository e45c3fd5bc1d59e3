import type { AssistantMessage } from "../llm/message.ts";
import type { Failure } from "../llm/failure.ts";
import type { AgentMessage } from "../session/message.ts";
import type { MessageQueue, QueueKind, QueueMode } from "./queue.ts";
import { failedTurn, turn, unstored, type TurnContext, type TurnEnd } from "./turn.ts";

export interface TurnsContext extends TurnContext {
  queue: MessageQueue;
  mode(kind: QueueKind): QueueMode;
  /** A queued message of this request went into the transcript. */
  answers(requestId: string | number): void;
  /** Between two turns, while the next one is only wanted: the place to make room in the context. */
  between(): Promise<void> | undefined;
}

export interface TurnsEnd {
  /** Every message that came in these turns, in order. */
  messages: AgentMessage[];
  /** The last answer. */
  message: AssistantMessage;
  failure?: Failure;
  fault?: string;
}

/**
 * From `agent_start` to right before `agent_end`: turns, as long as there are calls to answer or messages in the
 * queues. `opening` stands in the transcript already and is only told. `isDue`: an answer is wanted even when no
 * queued message goes in. Knows nothing of retries, and never rejects.
 */
export async function turns(context: TurnsContext, opening: readonly AgentMessage[], isDue: boolean): Promise<TurnsEnd> {
  const { emit, queue, signal } = context;
  const messages: AgentMessage[] = [];
  const tell = (message: AgentMessage) => {
    messages.push(message);
    emit({ type: "message_start", message });
    emit({ type: "message_end", message });
  };
  emit({ type: "agent_start" });
  emit({ type: "turn_start" });
  for (const message of opening) tell(message);
  for (;;) {
    const end = await oneTurn(context, isDue, tell);
    messages.push(end.message, ...end.toolResults);
    const { message, failure, fault } = end;
    const isOver = () => fault !== undefined || signal.aborted || message.stopReason === "error" || message.stopReason === "aborted" || !(isDue || queue.size);
    isDue = end.toolResults.length > 0;
    if (!isOver()) await context.between();
    if (isOver()) return { messages, message, ...(failure && { failure }), ...(fault !== undefined && { fault }) };
    emit({ type: "turn_start" });
  }
}

function oneTurn(context: TurnsContext, isDue: boolean, tell: (message: AgentMessage) => void): Promise<TurnEnd> | TurnEnd {
  try {
    // Aborted before its first call: what waits stays in the queue.
    if (!context.signal.aborted && !deliver(context, "steer", tell) && !isDue) deliver(context, "followUp", tell);
  } catch (error) {
    return failedTurn(context, unstored(error));
  }
  return turn(context);
}

/** Moves what waits into the transcript, by its mode; gives whether there was anything. */
function deliver(context: TurnsContext, kind: QueueKind, tell: (message: AgentMessage) => void): boolean {
  let count = 0;
  while (count === 0 || context.mode(kind) === "all") {
    const delivered = context.queue.deliver(kind, context.now());
    if (!delivered) break;
    count++;
    if (delivered.requestId !== undefined) context.answers(delivered.requestId);
    tell(delivered.message);
  }
  return count > 0;
}
