import { textOf, type Message } from "../llm/message.ts";
import type { ModelRequest, ThinkingLevel } from "../llm/model.ts";
import { clip, clipChars, joinWithin } from "./compaction-clip.ts";
import type { Cut } from "./compaction-cut.ts";
import { estimateText } from "./compaction-estimate.ts";
import { withoutFiles } from "./compaction-files.ts";
import { messagesForModel } from "./messages-for-model.ts";
import format from "./compaction-format.md" with { type: "text" };
import system from "./compaction-system.md" with { type: "text" };

/** Characters of a tool's result, and of the arguments of a call, that the summary is made from. */
const RESULT_CHARS = 2000;
const ARGUMENTS_CHARS = 1000;
/** Nobody said how large the window is: as much text as a large one holds; a refusal makes it less. */
const UNKNOWN_WINDOW = 1_000_000;
/** A request is not made smaller than this, however small a window is said to be. */
const MIN_WINDOW = 1024;

export interface SummaryRequestOptions {
  cut: Cut;
  /** What the user wants the summary to mind. */
  instructions?: string;
  /** The model's context, in tokens; null when unknown. */
  window: number | null;
  /** The model's longest answer, in tokens; null when unknown. */
  maxTokens: number | null;
  /** The longest summary, in tokens, as far as the window and the model allow. */
  reserveTokens: number;
  thinkingLevel: ThinkingLevel;
  sessionId?: string;
}

/**
 * The request that asks for a summary. It fits the window together with its answer, by estimate: the text of the
 * conversation is cut, with markers, until it does.
 */
export function summaryRequest(o: SummaryRequestOptions): ModelRequest {
  const window = Math.max(MIN_WINDOW, o.window ?? UNKNOWN_WINDOW);
  const maxTokens = Math.max(1, Math.min(o.reserveTokens || Infinity, o.maxTokens ?? Infinity, Math.floor(window / 4)));
  // A tenth is left free: an estimate is not a count.
  const room = Math.floor((window - maxTokens) * 0.9) - estimateText(system) - estimateText(format) - 100;
  const about = o.instructions?.trim() ? clip(o.instructions.trim(), Math.max(0, Math.floor(room / 4))) : "";
  const previous = o.cut.previousSummary === undefined ? "" : clip(harmless(withoutFiles(o.cut.previousSummary)), Math.max(0, Math.floor(room / 4)));
  const rest = Math.max(0, room - estimateText(about) - estimateText(previous));
  const parts = [
    "This is the earlier part of a conversation between a user and a coding assistant. Its later part is kept as it is.",
    `<conversation>\n${joinWithin(pieces(o.cut), rest)}\n</conversation>`,
  ];
  if (previous) parts.push(`What came before that had been summarised already. Carry forward what still matters of it, and bring it up to date:\n\n<previous-summary>\n${previous}\n</previous-summary>`);
  parts.push(format.trim());
  if (about) parts.push(`The user asks that the summary minds this:\n${about}`);
  return {
    systemPrompt: system.trim(),
    messages: [{ role: "user", content: [{ type: "text", text: parts.join("\n\n") }], timestamp: 0 }],
    tools: [],
    thinkingLevel: o.thinkingLevel,
    maxTokens,
    ...(o.sessionId === undefined ? {} : { sessionId: o.sessionId }),
  };
}

/** What a request takes of the window, its answer included, by the estimate that it was cut with. */
export function requestTokens(request: ModelRequest): number {
  const texts = [request.systemPrompt, ...request.messages.map((message) => textOf(message.content))];
  return texts.reduce((tokens, text) => tokens + estimateText(text), request.maxTokens ?? 0);
}

/** The conversation as text, one piece a message, so that a model reads it and does not go on with it. */
function pieces({ toSummarise, splitAt }: Cut): string[] {
  if (splitAt === undefined) return piecesOf(toSummarise);
  return [
    ...piecesOf(toSummarise.slice(0, splitAt)),
    "[The task that begins here is not finished at the end of this part; the rest of it is in the part that is kept.]",
    ...piecesOf(toSummarise.slice(splitAt)),
  ];
}

function piecesOf(messages: Cut["toSummarise"]): string[] {
  return messagesForModel(messages).map((message) => harmless(pieceOf(message)));
}

function pieceOf(message: Message): string {
  switch (message.role) {
    case "user":
      return `# User\n${contentText(message.content)}`;
    case "assistant": {
      const lines = ["# Assistant"];
      for (const block of message.content) {
        if (block.type === "text") lines.push(block.text);
        if (block.type === "toolCall") lines.push(`(calls ${block.name}: ${clipChars(JSON.stringify(block.arguments ?? {}), ARGUMENTS_CHARS)})`);
      }
      return lines.join("\n");
    }
    case "toolResult":
      return `# Result of ${message.toolName}${message.isError ? " (failed)" : ""}\n${clipChars(contentText(message.content), RESULT_CHARS)}`;
  }
}

function contentText(content: Exclude<Message, { role: "assistant" }>["content"]): string {
  const images = typeof content === "string" ? 0 : content.filter((block) => block.type === "image").length;
  const text = textOf(content);
  return images === 0 ? text : [text, `[${images === 1 ? "an image" : `${images} images`}]`].filter(Boolean).join("\n");
}

/** Text cannot close the tags that it stands in. */
function harmless(text: string): string {
  return text.replace(/<(?=\/?(?:conversation|previous-summary)>)/gi, "&lt;");
}
