/** What rpi knows of providers by their id, so that a key in the environment is enough. */
export interface KnownProvider {
  /** Variables that may hold its key; the first that is set is taken. */
  env: readonly string[];
  baseUrl?: string;
  api?: string;
}

const OPENAI = "openai-completions";

export const KNOWN_PROVIDERS: Readonly<Record<string, KnownProvider>> = {
  openai: { env: ["OPENAI_API_KEY"], baseUrl: "https://api.openai.com/v1", api: OPENAI },
  anthropic: { env: ["ANTHROPIC_API_KEY"], baseUrl: "https://api.anthropic.com", api: "anthropic-messages" },
  google: { env: ["GEMINI_API_KEY", "GOOGLE_API_KEY"] },
  "google-vertex": { env: ["GOOGLE_CLOUD_API_KEY"] },
  azure: { env: ["AZURE_OPENAI_API_KEY"] },
  openrouter: { env: ["OPENROUTER_API_KEY"], baseUrl: "https://openrouter.ai/api/v1", api: OPENAI },
  groq: { env: ["GROQ_API_KEY"], baseUrl: "https://api.groq.com/openai/v1", api: OPENAI },
  mistral: { env: ["MISTRAL_API_KEY"], baseUrl: "https://api.mistral.ai/v1", api: OPENAI },
  deepseek: { env: ["DEEPSEEK_API_KEY"], baseUrl: "https://api.deepseek.com/v1", api: OPENAI },
  xai: { env: ["XAI_API_KEY"], baseUrl: "https://api.x.ai/v1", api: OPENAI },
  cerebras: { env: ["CEREBRAS_API_KEY"], baseUrl: "https://api.cerebras.ai/v1", api: OPENAI },
  together: { env: ["TOGETHER_API_KEY"], baseUrl: "https://api.together.xyz/v1", api: OPENAI },
  fireworks: { env: ["FIREWORKS_API_KEY"], baseUrl: "https://api.fireworks.ai/inference/v1", api: OPENAI },
  huggingface: { env: ["HF_TOKEN"], baseUrl: "https://router.huggingface.co/v1", api: OPENAI },
  nvidia: { env: ["NVIDIA_API_KEY"], baseUrl: "https://integrate.api.nvidia.com/v1", api: OPENAI },
  moonshotai: { env: ["MOONSHOT_API_KEY"], baseUrl: "https://api.moonshot.ai/v1", api: OPENAI },
  "moonshotai-cn": { env: ["MOONSHOT_API_KEY"], baseUrl: "https://api.moonshot.cn/v1", api: OPENAI },
  zai: { env: ["ZAI_API_KEY"], baseUrl: "https://api.z.ai/api/paas/v4", api: OPENAI },
  baseten: { env: ["BASETEN_API_KEY"] },
  minimax: { env: ["MINIMAX_API_KEY"] },
  "minimax-cn": { env: ["MINIMAX_CN_API_KEY"] },
  "kimi-coding": { env: ["KIMI_API_KEY"] },
  opencode: { env: ["OPENCODE_API_KEY"] },
  "opencode-go": { env: ["OPENCODE_API_KEY"] },
  "vercel-ai-gateway": { env: ["AI_GATEWAY_API_KEY"] },
  "cloudflare-workers-ai": { env: ["CLOUDFLARE_API_KEY"] },
  "cloudflare-ai-gateway": { env: ["CLOUDFLARE_API_KEY"] },
  "zai-coding-cn": { env: ["ZAI_CODING_CN_API_KEY"] },
  meta: { env: ["META_API_KEY"] },
  xiaomi: { env: ["XIAOMI_API_KEY"] },
  perplexity: { env: ["PERPLEXITY_API_KEY"] },
  cohere: { env: ["COHERE_API_KEY"] },
};

/** What to do about a provider's key that is not there, in words. */
export function keyAdvice(provider: string): string {
  const names = Object.hasOwn(KNOWN_PROVIDERS, provider) ? KNOWN_PROVIDERS[provider]!.env : [];
  const way = names.length > 0 ? `Set ${names.join(" or ")}, or put` : "Put";
  return `No API key for ${provider}. ${way} "apiKey" into models.json.`;
}

/** Variables that hold a key of a provider, those of providers that rpi does not speak to included: kept from children. */
export const providerKeyNames = (): string[] => [
  ...Object.values(KNOWN_PROVIDERS).flatMap((known) => known.env),
  "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN", "OPENAI_ADMIN_KEY", "AWS_BEARER_TOKEN_BEDROCK",
  "COPILOT_GITHUB_TOKEN", "RADIUS_API_KEY", "TYPESAFE_API_KEY", "ANT_LING_API_KEY",
  "QWEN_TOKEN_PLAN_API_KEY", "QWEN_TOKEN_PLAN_CN_API_KEY", "DASHSCOPE_API_KEY",
  "XIAOMI_TOKEN_PLAN_CN_API_KEY", "XIAOMI_TOKEN_PLAN_AMS_API_KEY", "XIAOMI_TOKEN_PLAN_SGP_API_KEY",
];
