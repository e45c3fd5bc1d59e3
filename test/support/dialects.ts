/** Pieces of answers in the two dialects, for ModelServer. */

const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;

/** Chat Completions. */
export const openai = {
  /** One chunk; `delta` as the dialect has it. */
  chunk: (delta: object, more: object = {}) => data({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: null, ...more }] }),
  text: (content: string) => openai.chunk({ content }),
  /** Pieces of tool calls in one chunk. */
  calls: (...tool_calls: object[]) => openai.chunk({ tool_calls }),
  /** A whole call in one piece. */
  call: (index: number, id: string, name: string, args: object) => openai.calls({ index, id, type: "function", function: { name, arguments: JSON.stringify(args) } }),
  finish: (reason: string) => openai.chunk({}, { finish_reason: reason }),
  usage: (usage: unknown) => data({ id: "chatcmpl-1", choices: [], usage }),
  error: (error: unknown) => data({ error }),
  done: "data: [DONE]\n\n",
  /** A whole answer of texts. */
  answer: (...texts: string[]) => [...texts.map(openai.text), openai.finish("stop"), openai.usage({ prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }), openai.done],
};

/** Anthropic's Messages. */
export const anthropic = {
  event: (type: string, fields: object = {}) => `event: ${type}\n${data({ type, ...fields })}`,
  start: (usage: object = { input_tokens: 10, output_tokens: 1 }, model = "m") => anthropic.event("message_start", { message: { id: "msg_1", type: "message", role: "assistant", model, content: [], usage } }),
  begin: (index: number, content_block: object) => anthropic.event("content_block_start", { index, content_block }),
  delta: (index: number, delta: object) => anthropic.event("content_block_delta", { index, delta }),
  end: (index: number) => anthropic.event("content_block_stop", { index }),
  textBlock: (index: number, ...texts: string[]) => [anthropic.begin(index, { type: "text", text: "" }), ...texts.map((text) => anthropic.delta(index, { type: "text_delta", text })), anthropic.end(index)],
  thinkingBlock: (index: number, thinking: string, signature: string) => [
    anthropic.begin(index, { type: "thinking", thinking: "", signature: "" }),
    anthropic.delta(index, { type: "thinking_delta", thinking }),
    anthropic.delta(index, { type: "signature_delta", signature }),
    anthropic.end(index),
  ],
  toolBlock: (index: number, id: string, name: string, ...json: string[]) => [
    anthropic.begin(index, { type: "tool_use", id, name, input: {} }),
    ...json.map((partial_json) => anthropic.delta(index, { type: "input_json_delta", partial_json })),
    anthropic.end(index),
  ],
  /** The reason and the counts, and the end. */
  stop: (stop_reason: string, usage: object = { output_tokens: 2 }) => [anthropic.event("message_delta", { delta: { stop_reason, stop_sequence: null }, usage }), anthropic.event("message_stop")],
  error: (type: string, message: string) => anthropic.event("error", { error: { type, message } }),
  /** A whole answer of texts. */
  answer: (...texts: string[]) => [anthropic.start(), ...anthropic.textBlock(0, ...texts), ...anthropic.stop("end_turn")],
};
