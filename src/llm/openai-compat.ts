import type { ModelSpec } from "./model.ts";

/** Where a server differs from the plain dialect; names are those of pi's models.json `compat`. */
export interface OpenAICompat {
  supportsStore: boolean;
  supportsDeveloperRole: boolean;
  supportsReasoningEffort: boolean;
  supportsUsageInStreaming: boolean;
  supportsFinishReason: boolean;
  maxTokensField: "max_tokens" | "max_completion_tokens";
  requiresToolResultName: boolean;
  requiresAssistantAfterToolResult: boolean;
  requiresNonNullAssistantContent: boolean;
  requiresToolsWithToolHistory: boolean;
  requiresThinkingAsText: boolean;
  /** Ours: the server's chat template refuses two user messages in a row. */
  requiresAlternatingRoles: boolean;
  requiresReasoningContentOnAssistantMessages: boolean;
  thinkingFormat: string;
  thinkingTokenBudgetField: string | undefined;
  chatTemplateKwargs: Record<string, unknown> | undefined;
  chatTemplateArgs: Record<string, unknown> | undefined;
  openRouterRouting: Record<string, unknown> | undefined;
  vercelGatewayRouting: Record<string, unknown> | undefined;
  zaiToolStream: boolean;
  cacheControlFormat: string | undefined;
  sendSessionAffinityHeaders: boolean;
  sessionAffinityFormat: string;
  promptCacheKeyMode: string;
  vllmPriority: number | undefined;
}

/** Hosts that are known to differ, by a part of their address or by provider id. */
const isAt = (provider: string, ...addresses: string[]) => ({ model }: ModelSpec) =>
  model.provider === provider || addresses.some((address) => model.baseUrl.includes(address));

const isOpenAI = isAt("openai", "api.openai.com");
const isAzure = isAt("azure", ".openai.azure.com");
const isOpenRouter = isAt("openrouter", "openrouter.ai");
const isDeepSeek = isAt("deepseek", "deepseek.com");
const isZai = isAt("zai", "api.z.ai", "open.bigmodel.cn");
const isTogether = isAt("together", "api.together.");
const isMoonshot = isAt("moonshotai", "api.moonshot.");
const isXai = isAt("xai", "api.x.ai");
const isNvidia = isAt("nvidia", "integrate.api.nvidia.com");

/** What the host is known for, under what `compat` says. Of an unknown host no more is asked than every server takes. */
export function compatOf(spec: ModelSpec): OpenAICompat {
  const openai = isOpenAI(spec);
  const openRouter = isOpenRouter(spec);
  const said = spec.compat ?? {};
  const defaults: OpenAICompat = {
    supportsStore: openai,
    supportsDeveloperRole: openai,
    supportsReasoningEffort: !isXai(spec) && !isZai(spec) && !isMoonshot(spec) && !isTogether(spec) && !isNvidia(spec),
    supportsUsageInStreaming: true,
    supportsFinishReason: true,
    maxTokensField: openai || isAzure(spec) ? "max_completion_tokens" : "max_tokens",
    requiresToolResultName: false,
    requiresAssistantAfterToolResult: false,
    requiresNonNullAssistantContent: false,
    requiresToolsWithToolHistory: false,
    requiresThinkingAsText: false,
    requiresAlternatingRoles: false,
    requiresReasoningContentOnAssistantMessages: isDeepSeek(spec),
    thinkingFormat: isDeepSeek(spec) ? "deepseek" : isZai(spec) ? "zai" : isTogether(spec) ? "together" : openRouter ? "openrouter" : "openai",
    thinkingTokenBudgetField: said.supportsThinkingTokenBudget === true ? "thinking_token_budget" : undefined,
    chatTemplateKwargs: undefined,
    chatTemplateArgs: undefined,
    openRouterRouting: undefined,
    vercelGatewayRouting: undefined,
    zaiToolStream: false,
    cacheControlFormat: openRouter && spec.model.id.startsWith("anthropic/") ? "anthropic" : undefined,
    sendSessionAffinityHeaders: openRouter,
    sessionAffinityFormat: openRouter ? "openrouter" : "openai",
    promptCacheKeyMode: openai ? "enabled" : "auto",
    vllmPriority: undefined,
  };
  const given = Object.entries(said).filter(([name, value]) => Object.hasOwn(defaults, name) && value !== null && value !== undefined);
  return { ...defaults, ...Object.fromEntries(given) };
}
