import type { AssistantMessage, ImageBlock, TextBlock, ToolResultMessage, UserMessage } from "./message.ts";
import type { ModelRequest, ModelSpec } from "./model.ts";
import type { OpenAICompat } from "./openai-compat.ts";
import { thinkingFields } from "./openai-thinking.ts";
import { detailsOf } from "./reasoning-details.ts";
import { answerTokens } from "./room.ts";

type Part = { type: "text"; text: string; cache_control?: unknown } | { type: "image_url"; image_url: { url: string } };

/** A message of the request, loosely: servers differ in what they add. */
export interface Sent {
  role: string;
  content: string | Part[] | null;
  [field: string]: unknown;
}

const REASONING_FIELDS = new Set(["reasoning", "reasoning_content", "reasoning_text"]);
const BRIDGE = "I have processed the tool results.";

/** The body of a streamed request. `request` has been repaired. */
export function openaiBody(spec: ModelSpec, request: ModelRequest, compat: OpenAICompat): Record<string, unknown> {
  const { model } = spec;
  const maxTokens = answerTokens(spec, request);
  const messages = sentMessages(spec, request, compat);
  const tools: Record<string, unknown>[] = request.tools.map(({ name, description, parameters }) => ({ type: "function", function: { name, description, parameters } }));
  const hasToolHistory = request.messages.some((message) => message.role === "toolResult");
  if (compat.cacheControlFormat === "anthropic") markCache(messages, tools);
  return {
    model: model.id,
    messages,
    stream: true,
    ...(compat.supportsUsageInStreaming ? { stream_options: { include_usage: true } } : {}),
    ...(compat.supportsStore ? { store: false } : {}),
    ...(maxTokens === undefined ? {} : { [compat.maxTokensField]: maxTokens }),
    ...(tools.length || (compat.requiresToolsWithToolHistory && hasToolHistory) ? { tools } : {}),
    ...(tools.length && compat.zaiToolStream ? { tool_stream: true } : {}),
    ...thinkingFields(spec, request, compat, maxTokens),
    ...(compat.promptCacheKeyMode === "enabled" && request.sessionId ? { prompt_cache_key: request.sessionId.slice(0, 64) } : {}),
    ...(compat.vllmPriority === undefined ? {} : { priority: compat.vllmPriority }),
    ...(compat.openRouterRouting ? { provider: compat.openRouterRouting } : {}),
    ...(compat.vercelGatewayRouting ? { providerOptions: { gateway: compat.vercelGatewayRouting } } : {}),
  };
}

function sentMessages(spec: ModelSpec, request: ModelRequest, given: OpenAICompat): Sent[] {
  const compat = request.joinsUsers ? { ...given, requiresAlternatingRoles: true } : given;
  const messages: Sent[] = [];
  if (request.systemPrompt) {
    messages.push({ role: spec.model.reasoning && compat.supportsDeveloperRole ? "developer" : "system", content: request.systemPrompt });
  }
  /** Images of tool results, which only a user message may hold. */
  let images: ImageBlock[] = [];
  const showImages = () => {
    if (images.length) pushUser(messages, [{ type: "text", text: "Images of the tool results above:" }, ...images], compat);
    images = [];
  };
  for (const message of request.messages) {
    if (message.role === "toolResult") {
      messages.push(toolMessage(message, compat));
      images.push(...message.content.filter((block) => block.type === "image"));
      continue;
    }
    showImages();
    if (message.role === "user") pushUser(messages, message.content, compat);
    else pushAssistant(messages, message, spec, compat);
  }
  showImages();
  return messages;
}

/** User messages that follow each other stay apart, except where a chat template wants the roles to alternate. */
function pushUser(messages: Sent[], content: UserMessage["content"], compat: OpenAICompat): void {
  const parts = typeof content === "string" ? [part({ type: "text", text: content })] : content.map(part);
  const last = messages.at(-1);
  if (last?.role === "user" && compat.requiresAlternatingRoles) {
    const before: Part[] = typeof last.content === "string" ? [{ type: "text", text: last.content }] : (last.content ?? []);
    last.content = [...before, ...parts];
    return;
  }
  if (last?.role === "tool" && compat.requiresAssistantAfterToolResult) messages.push({ role: "assistant", content: BRIDGE });
  const [only] = parts;
  messages.push({ role: "user", content: parts.length === 1 && only?.type === "text" ? only.text : parts });
}

function part(block: TextBlock | ImageBlock): Part {
  return block.type === "text" ? { type: "text", text: block.text } : { type: "image_url", image_url: { url: `data:${block.mimeType};base64,${block.data}` } };
}

function pushAssistant(messages: Sent[], message: AssistantMessage, spec: ModelSpec, compat: OpenAICompat): void {
  const thinking = message.content.filter((block) => block.type === "thinking");
  const calls = message.content.filter((block) => block.type === "toolCall");
  const texts = message.content.filter((block) => block.type === "text").map((block) => block.text);
  if (compat.requiresThinkingAsText) texts.unshift(...thinking.filter((block) => block.thinking !== "").map((block) => block.thinking));
  const text = texts.join(compat.requiresThinkingAsText ? "\n\n" : "");
  if (text === "" && calls.length === 0) return;
  const mayBeNull = !compat.requiresNonNullAssistantContent && !compat.requiresAssistantAfterToolResult;
  const sent: Sent = { role: "assistant", content: text === "" && mayBeNull ? null : text };
  if (!compat.requiresThinkingAsText) Object.assign(sent, reasoningFields(thinking));
  if (calls.length) {
    sent.tool_calls = calls.map((call) => ({ id: call.id, type: "function", function: { name: call.name, arguments: JSON.stringify(call.arguments) } }));
  }
  if (compat.requiresReasoningContentOnAssistantMessages && spec.model.reasoning) sent.reasoning_content ??= "";
  messages.push(sent);
}

/** The model's own reasoning under the name under which it came; none when it stood in the text. */
function reasoningFields(thinking: readonly { thinking: string; thinkingSignature?: string }[]): Record<string, unknown> {
  const details = thinking.map((block) => detailsOf(block.thinkingSignature)).find((found) => found !== undefined);
  if (details) return { reasoning_details: details };
  const told = thinking.filter((block) => block.thinking !== "");
  const field = told[0]?.thinkingSignature;
  return field && REASONING_FIELDS.has(field) ? { [field]: told.map((block) => block.thinking).join("\n") } : {};
}

function toolMessage(message: ToolResultMessage, compat: OpenAICompat): Sent {
  const text = message.content.filter((block) => block.type === "text").map((block) => block.text).join("\n");
  return {
    role: "tool",
    tool_call_id: message.toolCallId,
    content: text || "(see the image below)",
    ...(compat.requiresToolResultName ? { name: message.toolName } : {}),
  };
}

/** Marks the stable prefix as Anthropic's models want it: system prompt, last tool, last message with text. */
function markCache(messages: Sent[], tools: Record<string, unknown>[]): void {
  const cache_control = { type: "ephemeral" };
  const mark = (message: Sent | undefined) => {
    if (!message?.content) return;
    if (typeof message.content === "string") message.content = [{ type: "text", text: message.content }];
    const text = message.content.findLast((one) => one.type === "text");
    if (text?.type === "text") text.cache_control = cache_control;
  };
  const [first] = messages;
  if (first && first.role !== "user") mark(first);
  const lastTool = tools.at(-1);
  if (lastTool) lastTool.cache_control = cache_control;
  mark(messages.findLast((message) => message !== first && message.content !== null && message.content.length > 0));
}
