import { describe, expect, test } from "bun:test";
import { namedWindow, saysOverflow } from "../../src/llm/overflow.ts";

/** Words of providers and servers, and the window that they name. */
const OVERFLOWS: [who: string, words: string, window?: number][] = [
  ["Anthropic", "prompt is too long: 213462 tokens > 200000 maximum", 200_000],
  ["Anthropic, in bytes", "request_too_large Request exceeds the maximum size"],
  ["OpenAI", "Your input exceeds the context window of this model. Please adjust your input and try again."],
  ["OpenAI, by code", "context_length_exceeded"],
  ["OpenAI, older", "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", 8192],
  ["vLLM", "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).", 4096],
  ["LiteLLM", "litellm.ContextWindowExceededError: Context window exceeded for given call."],
  ["a compatible proxy", "Requested token count exceeds the model's maximum context length of 131072 tokens.", 131_072],
  ["another one", "Input length (265330) exceeds model's maximum context length (262144).", 262_144],
  ["Gemini", "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).", 1_048_575],
  ["xAI", "This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131_072],
  ["Groq", "Please reduce the length of the messages or completion."],
  ["OpenRouter", "This endpoint's maximum context length is 128000 tokens. However, you requested about 130000 tokens.", 128_000],
  ["Poolside", "Input length 300 exceeds the maximum allowed input length of 200 tokens.", 200],
  ["Together", "The input (9000 tokens) is longer than the model's context length (8192 tokens).", 8192],
  ["llama.cpp", 'the request exceeds the available context size, try increasing it {"n_ctx": 4096}', 4096],
  ["LM Studio", "The number of tokens to keep from the initial prompt is greater than the context length."],
  ["Copilot", "prompt token count of 140000 exceeds the limit of 128000", 128_000],
  ["MiniMax", "invalid params, context window exceeds limit"],
  ["Kimi", "Your request exceeded model token limit: 262144 (requested: 270000)", 262_144],
  ["Mistral", "Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768],
  ["z.ai", "Prompt exceeds max length"],
  ["DashScope", "Range of input length should be [1, 30720]", 30_720],
  ["Ollama", "prompt too long; exceeded max context length by 500 tokens"],
  ["Bedrock", "Input is too long for requested model."],
];

describe("An overflow is known by the words of", () => {
  for (const [who, words, window] of OVERFLOWS) {
    test(who, () => expect([saysOverflow(words), namedWindow(words)]).toEqual([true, window]));
  }
});

describe("No overflow is", () => {
  for (const words of [
    "Rate limit reached for m on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.",
    "Too many tokens, please wait before trying again (throttling).",
    "Request too large for m on tokens per minute (TPM). Please reduce the length of the messages.",
    "max_tokens must be at least 1",
    "Invalid value for 'context'",
    "The model does not exist",
    "Unsupported parameter: 'max_tokens' exceeds 5",
  ]) {
    test(words, () => expect(saysOverflow(words)).toBe(false));
  }
});
