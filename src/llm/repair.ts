import { checkedImage } from "./image.ts";
import type { AssistantMessage, ImageBlock, Message, TextBlock, ToolCall, ToolResultMessage, UserMessage } from "./message.ts";
import type { ModelRequest, ModelSpec } from "./model.ts";
import { ToolCallIds } from "./tool-call-ids.ts";

const NO_RESULT = "No result: the call was interrupted before it ended.";
const NO_OUTPUT = "(no output)";
/** What no api takes in the name of a tool; a model may have made up any. */
const NOT_IN_NAMES = /[^a-zA-Z0-9_-]/g;
const MAX_NAME = 64;

/**
 * The request as any api takes it; the transcript stays as it is. Every call has exactly one result right behind it,
 * ids are unique, they and the names of tools fit the api, nothing is empty, answers that failed are left out, thinking and signatures of
 * another model are not passed off as this one's, and images the model cannot take are told in words.
 */
export function repair(request: ModelRequest, spec: ModelSpec): ModelRequest {
  const ids = new ToolCallIds(spec);
  const messages: Message[] = [];
  // Files that others wrote may hold messages without content.
  const source = request.messages.map((message) => ((message.content as unknown) == null ? { ...message, content: [] } : message)) as Message[];
  for (let at = 0; at < source.length; at += 1) {
    const message = source[at]!;
    if (message.role === "user") pushUser(messages, message, spec);
    if (message.role !== "assistant") continue;
    const content = assistantContent(message, spec);
    if (content.length === 0) continue;
    const calls = content.filter((block) => block.type === "toolCall");
    if (calls.length === 0) {
      messages.push(withContent(message, content));
      continue;
    }
    const sent = calls.map((call): ToolCall => ({ ...call, id: ids.next(call.id), name: fittingName(call.name) }));
    messages.push({ ...message, content: content.map((block) => (block.type === "toolCall" ? sent[calls.indexOf(block)]! : block)) });
    messages.push(...resultsOf(calls, sent, message, resultsUntilNextAnswer(source, at + 1), spec));
  }
  return { ...request, messages };
}

function pushUser(messages: Message[], message: UserMessage, spec: ModelSpec): void {
  if (typeof message.content === "string") {
    if (message.content.trim() !== "") messages.push(message);
    return;
  }
  const content = sendable(message.content, spec);
  if (content.length) messages.push(withContent(message, content));
}

/** The same object where its content is what it was: a long transcript is hardly ever changed. */
function withContent<M extends UserMessage | AssistantMessage>(message: M, content: M["content"]): M {
  const isSame = content.length === message.content.length && (content as readonly unknown[]).every((block, at) => block === message.content[at]);
  return isSame ? message : { ...message, content };
}

/** What of an answer may be sent back; nothing of one that failed, and no thinking that was cut off. */
function assistantContent(message: AssistantMessage, spec: ModelSpec): AssistantMessage["content"] {
  if (message.stopReason === "error" || message.stopReason === "pending") return [];
  const { provider, api, id } = spec.model;
  const isForeign = message.provider !== provider || message.api !== api || message.model !== id;
  return message.content.flatMap((block): AssistantMessage["content"] => {
    switch (block.type) {
      case "text":
        if (block.text.trim() === "") return [];
        return isForeign && block.textSignature ? [{ type: "text", text: block.text }] : [block];
      case "thinking":
        if (isForeign) return block.redacted || block.thinking.trim() === "" ? [] : [{ type: "text", text: block.thinking }];
        if (block.thinking.trim() === "" && !block.thinkingSignature) return [];
        return message.stopReason === "aborted" && !block.thinkingSignature ? [] : [block];
      case "toolCall": {
        if (!isForeign || !block.thoughtSignature) return [block];
        const { thoughtSignature: _, ...call } = block;
        return [call];
      }
    }
  });
}

/** Results by the id of their call, each list in order, up to the next message of the model. */
function resultsUntilNextAnswer(messages: readonly Message[], from: number): Map<string, ToolResultMessage[]> {
  const results = new Map<string, ToolResultMessage[]>();
  for (let at = from; at < messages.length; at += 1) {
    const message = messages[at]!;
    if (message.role === "assistant" && message.stopReason !== "error") break;
    if (message.role !== "toolResult") continue;
    const list = results.get(message.toolCallId);
    if (list) list.push(message);
    else results.set(message.toolCallId, [message]);
  }
  return results;
}

function resultsOf(calls: readonly ToolCall[], sent: readonly ToolCall[], message: AssistantMessage, results: Map<string, ToolResultMessage[]>, spec: ModelSpec): ToolResultMessage[] {
  return calls.map((call, index) => {
    const result = results.get(call.id)?.shift();
    const { id: toolCallId, name: toolName } = sent[index]!;
    if (!result) {
      return { role: "toolResult", toolCallId, toolName, content: [{ type: "text", text: NO_RESULT }], isError: true, timestamp: message.timestamp };
    }
    const content = sendable(result.content, spec);
    return { ...result, toolCallId, toolName, content: content.length ? content : [{ type: "text", text: NO_OUTPUT }] };
  });
}

function fittingName(name: string): string {
  return name.replace(NOT_IN_NAMES, "_").slice(0, MAX_NAME) || "unknown";
}

/** Without empty texts, and with words in the place of images that cannot be sent. */
function sendable(content: readonly (TextBlock | ImageBlock)[], { model }: ModelSpec): (TextBlock | ImageBlock)[] {
  const blocks: (TextBlock | ImageBlock)[] = [];
  for (const block of content) {
    if (block.type === "text") {
      if (block.text.trim() !== "") blocks.push(block);
      continue;
    }
    const image = model.input.includes("image") ? checkedImage(block) : `${model.id} takes no images`;
    if (typeof image !== "string") blocks.push(image);
    else blocks.push({ type: "text", text: `[Image left out: ${image}.]` });
  }
  return blocks;
}
