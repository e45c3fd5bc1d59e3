import type { AnthropicCompat } from "./anthropic-compat.ts";
import type { AssistantMessage, ImageBlock, Message, TextBlock, ToolResultMessage } from "./message.ts";

/** A content block of the dialect. */
export interface Block {
  type: string;
  cache_control?: { type: "ephemeral" };
  [field: string]: unknown;
}

export interface Sent {
  role: "user" | "assistant";
  content: Block[];
}

/**
 * The messages of a repaired request: the user's comes first and last, results come right behind their calls. The api
 * takes user messages in a row as one turn, so they stay as they were said, unless `joinsUsers`.
 */
export function anthropicMessages(messages: readonly Message[], compat: AnthropicCompat, joinsUsers = false): Sent[] {
  const sent: Sent[] = [];
  const add = (role: Sent["role"], blocks: Block[]) => {
    if (blocks.length === 0) return;
    const last = sent.at(-1);
    if (last?.role === role && (joinsUsers || role === "assistant")) last.content.push(...blocks);
    else sent.push({ role, content: blocks });
  };
  for (let at = 0; at < messages.length; at += 1) {
    const message = messages[at]!;
    if (message.role === "toolResult") {
      let end = at + 1;
      while (messages[end]?.role === "toolResult") end += 1;
      add("user", resultBlocks(messages.slice(at, end) as ToolResultMessage[]));
      at = end - 1;
    } else if (message.role === "user") {
      add("user", typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content.map(contentBlock));
    } else add("assistant", assistantBlocks(message, compat));
  }
  if (sent[0]?.role !== "user") sent.unshift({ role: "user", content: [{ type: "text", text: "(The conversation goes on.)" }] });
  if (sent.at(-1)!.role !== "user") sent.push({ role: "user", content: [{ type: "text", text: "Continue." }] });
  return sent;
}

function contentBlock(block: TextBlock | ImageBlock): Block {
  return block.type === "text" ? { type: "text", text: block.text } : { type: "image", source: { type: "base64", media_type: block.mimeType, data: block.data } };
}

function assistantBlocks(message: AssistantMessage, compat: AnthropicCompat): Block[] {
  return message.content.flatMap((block): Block[] => {
    switch (block.type) {
      case "text":
        return [{ type: "text", text: block.text }];
      case "toolCall":
        return [{ type: "tool_use", id: block.id, name: block.name, input: block.arguments }];
      case "thinking":
        if (block.redacted) return block.thinkingSignature ? [{ type: "redacted_thinking", data: block.thinkingSignature }] : [];
        if (block.thinkingSignature || compat.allowEmptySignature) return [{ type: "thinking", thinking: block.thinking, signature: block.thinkingSignature ?? "" }];
        return block.thinking.trim() === "" ? [] : [{ type: "text", text: block.thinking }];
    }
  });
}

/** The results of one turn; images of failed ones stand behind them all, since an error may hold only text. */
function resultBlocks(results: readonly ToolResultMessage[]): Block[] {
  const blocks: Block[] = [];
  const behind: Block[] = [];
  for (const result of results) {
    const images = result.content.filter((block) => block.type === "image");
    const texts = result.content.filter((block) => block.type === "text");
    const text = texts.map((block) => block.text).join("\n");
    const apart = result.isError && images.length > 0;
    if (apart) behind.push({ type: "text", text: `Images of the failed call ${result.toolCallId} (${result.toolName}):` }, ...images.map(contentBlock));
    blocks.push({
      type: "tool_result",
      tool_use_id: result.toolCallId,
      content: images.length === 0 || apart ? text || "(see the images below)" : result.content.map(contentBlock),
      ...(result.isError ? { is_error: true } : {}),
    });
  }
  return [...blocks, ...behind];
}
