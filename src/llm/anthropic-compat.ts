import type { ModelSpec } from "./model.ts";

/** Where a server of Anthropic's dialect differs; names are those of pi's models.json `compat`. */
export interface AnthropicCompat {
  supportsEagerToolInputStreaming: boolean;
  supportsCacheControlOnTools: boolean;
  /** The model chooses how long it thinks, by an effort instead of a budget. */
  forceAdaptiveThinking: boolean;
  /** Thinking without a signature goes back as thinking. */
  allowEmptySignature: boolean;
  sendSessionAffinityHeaders: boolean;
  sessionAffinityFormat: string | undefined;
}

/** What the host is known for, under what `compat` says. */
export function anthropicCompatOf(spec: ModelSpec): AnthropicCompat {
  const said = spec.compat ?? {};
  const flag = (name: string, otherwise: boolean) => (typeof said[name] === "boolean" ? said[name] : otherwise);
  const isOpenRouter = spec.model.provider === "openrouter" || spec.model.baseUrl.includes("openrouter.ai");
  return {
    // A field that only Anthropic itself is known to take.
    supportsEagerToolInputStreaming: flag("supportsEagerToolInputStreaming", spec.model.baseUrl.includes("api.anthropic.com")),
    supportsCacheControlOnTools: flag("supportsCacheControlOnTools", true),
    forceAdaptiveThinking: flag("forceAdaptiveThinking", false),
    allowEmptySignature: flag("allowEmptySignature", false),
    sendSessionAffinityHeaders: flag("sendSessionAffinityHeaders", isOpenRouter),
    sessionAffinityFormat: typeof said.sessionAffinityFormat === "string" ? said.sessionAffinityFormat : isOpenRouter ? "openrouter" : undefined,
  };
}
