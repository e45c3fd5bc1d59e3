import type { Failure } from "../llm/failure.ts";
import type { ImageBlock, Message, TextBlock } from "../llm/message.ts";
import type { Model, ModelRequest } from "../llm/model.ts";
import type { AgentEvent } from "./events.ts";

const LEFT_OUT: TextBlock = { type: "text", text: "[Image left out: the provider refused it.]" };

/**
 * What servers turned out not to take, by model, for the life of the process: the transcript keeps everything, the
 * requests go without. So an image that a provider refuses does not end the conversation.
 */
export class Learned {
  readonly #images = new Map<string, Set<string>>();
  readonly #joinsUsers = new Set<string>();

  constructor(private readonly emit: (event: AgentEvent) => void) {}

  /** Gives whether a request like the one that failed would be another now. `sent`: its messages. */
  learn(failure: Failure, model: Model | undefined, sent: () => readonly Message[]): boolean {
    if (!failure.refused || !model) return false;
    const messages = sent();
    const key = keyOf(model);
    if (failure.refused === "roles_in_a_row") {
      const isNew = !this.#joinsUsers.has(key) && messages.some(({ role }, at) => role === "user" && messages[at + 1]?.role === "user");
      if (isNew) this.#joinsUsers.add(key);
      return isNew;
    }
    if (!model.input.includes("image")) return false;
    const known = this.#images.get(key) ?? new Set();
    const blamed = blamedImages(messages, model).filter(({ data }) => !known.has(data));
    const images = blamed.length ? blamed : imagesOf(messages).filter(({ data }) => !known.has(data));
    for (const { data } of images) known.add(data);
    if (images.length === 0) return false;
    this.#images.set(key, known);
    this.emit({ type: "notice", level: "warning", code: "image_refused", message: `${key} refused an image (${failure.message}). It is asked again without; the transcript keeps it.` });
    return true;
  }

  /** The request without what its model was found not to take. */
  fit(request: ModelRequest, model: Model): ModelRequest {
    const key = keyOf(model);
    const refused = this.#images.get(key);
    const messages = refused ? request.messages.map((message) => without(message, refused)) : request.messages;
    return { ...request, messages, ...(this.#joinsUsers.has(key) && { joinsUsers: true }) };
  }
}

function keyOf({ provider, id }: Model): string {
  return `${provider}/${id}`;
}

/** Images that came since the model answered last: those before were taken then. */
function blamedImages(messages: readonly Message[], model: Model): ImageBlock[] {
  const accepted = messages.findLastIndex((message) => message.role === "assistant" && message.provider === model.provider && message.model === model.id);
  return imagesOf(messages.slice(accepted + 1));
}

function imagesOf(messages: readonly Message[]): ImageBlock[] {
  return messages.flatMap(({ content }) => (typeof content === "string" ? [] : content.filter((block) => block.type === "image")));
}

function without(message: Message, refused: ReadonlySet<string>): Message {
  if (message.role === "assistant" || typeof message.content === "string") return message;
  if (!message.content.some((block) => block.type === "image" && refused.has(block.data))) return message;
  return { ...message, content: message.content.map((block) => (block.type === "image" && refused.has(block.data) ? LEFT_OUT : block)) };
}
