import type { ModelRequest, ModelSpec } from "./model.ts";
import type { OpenAICompat } from "./openai-compat.ts";
import { levelWord, thinkingBudget } from "./thinking.ts";

type Fields = Record<string, unknown>;

/** The fields that ask for a level of thinking, in the server's own format (`compat.thinkingFormat`). */
export function thinkingFields(spec: ModelSpec, request: ModelRequest, compat: OpenAICompat, maxTokens: number | undefined): Fields {
  if (!spec.model.reasoning) return {};
  const isOn = request.thinkingLevel !== "off";
  const map = spec.thinkingLevelMap;
  const word = isOn ? levelWord(spec, request.thinkingLevel) : undefined;
  /** How the model is told not to think: the map's word; null where it cannot be. */
  const off = map?.off;
  const effort: Fields = word !== undefined && compat.supportsReasoningEffort ? { reasoning_effort: word } : {};
  const budget = isOn ? thinkingBudget(request.thinkingLevel, maxTokens) : 0;
  const budgetField: Fields = compat.thinkingTokenBudgetField && budget > 0 ? { [compat.thinkingTokenBudgetField]: budget } : {};
  const templateOf = (values: Record<string, unknown> | undefined) => template(values ?? {}, { isOn, word: isOn ? word : (off ?? undefined), budget });
  const fields = (): Fields => {
    switch (compat.thinkingFormat) {
      case "openrouter":
        if (isOn) return { reasoning: { effort: word } };
        return off === null ? {} : { reasoning: { effort: off ?? "none" } };
      case "deepseek":
        if (isOn) return { thinking: { type: "enabled" }, ...effort };
        return off === null ? {} : { thinking: { type: "disabled" } };
      case "zai":
        return isOn ? { thinking: { type: "enabled", clear_thinking: false }, ...effort } : { thinking: { type: "disabled" } };
      case "together":
        return { reasoning: { enabled: isOn }, ...effort };
      case "qwen":
        return { enable_thinking: isOn, ...effort };
      case "qwen-chat-template":
        return { chat_template_kwargs: { enable_thinking: isOn, preserve_thinking: true } };
      case "chat-template":
        return filled("chat_template_kwargs", templateOf(compat.chatTemplateKwargs));
      case "baseten":
        return { ...filled("chat_template_args", templateOf(compat.chatTemplateArgs)), ...effort };
      case "string-thinking":
        if (isOn) return { thinking: word };
        return off === null ? {} : { thinking: off ?? "none" };
      case "ant-ling":
        return isOn && typeof map?.[request.thinkingLevel] === "string" ? { reasoning: { effort: word } } : {};
      default:
        if (isOn || !compat.supportsReasoningEffort || typeof off !== "string") return effort;
        return { reasoning_effort: off };
    }
  };
  return { ...fields(), ...budgetField };
}

/** Values of a chat template, `{"$var": "thinking.enabled" | "thinking.effort" | "thinking.budget"}` filled in. */
function template(values: Record<string, unknown>, thinking: { isOn: boolean; word: string | undefined; budget: number }): Fields {
  const filledIn: Fields = {};
  for (const [name, value] of Object.entries(values)) {
    if (typeof value !== "object" || value === null) {
      filledIn[name] = value;
      continue;
    }
    const { $var, omitWhenOff } = value as { $var?: unknown; omitWhenOff?: unknown };
    if (!thinking.isOn && omitWhenOff) continue;
    if ($var === "thinking.enabled") filledIn[name] = thinking.isOn;
    else if ($var === "thinking.budget" && thinking.budget > 0) filledIn[name] = thinking.budget;
    else if ($var === "thinking.effort" && thinking.word !== undefined) filledIn[name] = thinking.word;
  }
  return filledIn;
}

function filled(field: string, values: Fields): Fields {
  return Object.keys(values).length ? { [field]: values } : {};
}
