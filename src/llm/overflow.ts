/**
 * Words by which providers and servers say that a request is longer than the context window. Kept as sources and
 * compiled on the first failure: nothing of it is needed for an answer that succeeds.
 */
const WORDS = [
  "context[_ -]?(?:length|window|size)[_ ]?(?:was |is |has been )?exceed", // codes: context_length_exceeded, model_context_window_exceeded; LiteLLM
  "exceeds? (?:the |this |your )?(?:model'?s )?(?:available |maximum |max |configured )?(?:context|prompt|input|allowed input)[ _-]?(?:length|window|size)?", // OpenAI, llama.cpp, LiteLLM, OpenRouter
  "maximum (?:context|prompt|input) length (?:is|of)", // OpenAI, OpenRouter, xAI, vLLM
  "prompt (?:is )?too long", // Anthropic, z.ai, Ollama
  "prompt exceeds max", // z.ai
  "input is too long", // Bedrock
  "input token count.{0,40}exceeds", // Gemini
  "longer than (?:the )?(?:model'?s )?context length", // Together
  "(?:greater|larger) than the context (?:length|window|size)", // LM Studio
  "too large for model with \\d+ maximum context", // Mistral
  "context (?:window|size|length) (?:exceeds|overflow|is too small)", // MiniMax, LM Studio
  "exceed(?:s|ed) (?:the )?(?:model'?s? )?(?:token limit|limit of \\d+)", // Kimi, Copilot
  "configured context size is", // DS4
  "range of input length should be", // DashScope
  "reduce the length of the (?:messages|prompt|input)", // OpenAI, Groq
  "request_too_large|request exceeds the maximum size", // Anthropic, in bytes
  "trying to keep the first \\d+ tokens when context the overflows", // LM Studio
];

/** Words of a limit on traffic, which may speak of tokens too. */
const TRAFFIC = "per[ -]minute|per[ -]day|\\btpm\\b|\\brpm\\b|rate[ _-]?limit|too many requests|throttl";

/** Where the words name the window, in tokens. */
const WINDOWS = [
  "(?:maximum|max|available|configured|model'?s|allowed) (?:context|prompt|input)(?: (?:length|window|size))?(?: allowed)?(?: is| of|:)? ?\\(?([\\d,]+)",
  "(?:context (?:length|window|size)|prompt length)(?: is| of|:)? ?\\(?(?:only )?([\\d,]+)",
  "> ([\\d,]+) (?:maximum|max)", // Anthropic
  "maximum number of tokens allowed \\(([\\d,]+)\\)", // Gemini
  "model with ([\\d,]+) maximum context", // Mistral
  "limit(?: of|:) ([\\d,]+)", // Copilot, Kimi
  "should be \\[1, ([\\d,]+)\\]", // DashScope
  "maximum allowed input length of ([\\d,]+)",
  "\"n_ctx\": ?([\\d,]+)", // llama.cpp
];

let words: RegExp | undefined;
let traffic: RegExp | undefined;

/** Whether the words of a failure say that the request is too long, not that too many tokens came at once. */
export function saysOverflow(text: string): boolean {
  words ??= new RegExp(WORDS.join("|"), "i");
  return words.test(text) && !saysTraffic(text);
}

/** A limit per minute or day, or throttling: waiting helps. */
export function saysTraffic(text: string): boolean {
  traffic ??= new RegExp(TRAFFIC, "i");
  return traffic.test(text);
}

/** The context window that an overflow refusal names, in tokens. */
export function namedWindow(text: string): number | undefined {
  for (const source of WINDOWS) {
    const digits = new RegExp(source, "i").exec(text)?.[1]?.replaceAll(",", "");
    if (digits && Number(digits) > 0) return Number(digits);
  }
  return undefined;
}
