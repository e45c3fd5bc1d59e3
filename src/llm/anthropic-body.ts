import type { AnthropicCompat } from "./anthropic-compat.ts";
import { anthropicMessages, type Sent } from "./anthropic-messages.ts";
import type { ModelRequest, ModelSpec, ThinkingLevel, ToolSchema } from "./model.ts";
import { answerTokens } from "./room.ts";
import { levelWord, thinkingBudget } from "./thinking.ts";

/** The dialect wants a bound; this one every model takes. */
const UNKNOWN_MAX_TOKENS = 8192;
/** The least budget that the dialect takes. */
const LEAST_BUDGET = 1024;
const CACHE = { cache_control: { type: "ephemeral" } } as const;
/** Of a tool's schema, what may stand at its root. */
const SCHEMA_FIELDS = ["properties", "required", "additionalProperties", "$defs", "definitions"];

export interface AnthropicBody {
  body: Record<string, unknown>;
  /** Values of the `anthropic-beta` header that the body needs. */
  betas: string[];
}

/** The body of a streamed request. `request` has been repaired. */
export function anthropicBody(spec: ModelSpec, request: ModelRequest, compat: AnthropicCompat): AnthropicBody {
  const maxTokens = answerTokens(spec, request) ?? UNKNOWN_MAX_TOKENS;
  const messages = anthropicMessages(request.messages, compat, request.joinsUsers);
  const thinking = thinkingFields(spec, request.thinkingLevel, compat, maxTokens, messages);
  markCache(messages);
  return {
    body: {
      model: spec.model.id,
      max_tokens: maxTokens,
      stream: true,
      ...(request.systemPrompt ? { system: [{ type: "text", text: request.systemPrompt, ...CACHE }] } : {}),
      ...(request.tools.length ? { tools: request.tools.map((tool, at) => sentTool(tool, compat, at === request.tools.length - 1)) } : {}),
      ...thinking.fields,
      messages,
    },
    betas: thinking.betas,
  };
}

function sentTool({ name, description, parameters }: ToolSchema, compat: AnthropicCompat, isLast: boolean): Record<string, unknown> {
  const schema: Record<string, unknown> = { type: "object", properties: {} };
  for (const field of SCHEMA_FIELDS) if (parameters[field] !== undefined) schema[field] = parameters[field];
  return {
    name,
    description,
    ...(compat.supportsEagerToolInputStreaming ? { eager_input_streaming: true } : {}),
    input_schema: schema,
    ...(isLast && compat.supportsCacheControlOnTools ? CACHE : {}),
  };
}

function thinkingFields(spec: ModelSpec, level: ThinkingLevel, compat: AnthropicCompat, maxTokens: number, messages: readonly Sent[]): { fields: Record<string, unknown>; betas: string[] } {
  const none = { fields: {}, betas: [] };
  if (!spec.model.reasoning) return none;
  if (level === "off") return spec.thinkingLevelMap?.off === null ? none : { fields: { thinking: { type: "disabled" } }, betas: [] };
  if (compat.forceAdaptiveThinking) {
    return { fields: { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: effortOf(spec, level) } }, betas: [] };
  }
  const budget = thinkingBudget(level, maxTokens);
  if (budget < LEAST_BUDGET || !mayThink(messages)) return none;
  return { fields: { thinking: { type: "enabled", budget_tokens: budget } }, betas: ["interleaved-thinking-2025-05-14"] };
}

function effortOf(spec: ModelSpec, level: ThinkingLevel): string {
  if (spec.thinkingLevelMap?.[level]) return levelWord(spec, level)!;
  return level === "minimal" || level === "low" ? "low" : level === "medium" ? "medium" : "high";
}

/** Thinking cannot begin between a call and its result: a turn that began without it ends without it. */
function mayThink(messages: readonly Sent[]): boolean {
  const last = messages.findLast(({ role }) => role === "assistant")?.content ?? [];
  return last[0]?.type.endsWith("thinking") || !last.some((block) => block.type === "tool_use");
}

/** The user's last message ends a prefix, and so does the one before the last answer, which ended the request before. */
function markCache(messages: readonly Sent[]): void {
  const lastAnswer = messages.findLastIndex(({ role }) => role === "assistant");
  for (const message of [messages.at(-1), messages[lastAnswer - 1]]) {
    const last = message?.content.at(-1);
    if (last) Object.assign(last, CACHE);
  }
}
