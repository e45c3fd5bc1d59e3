import type { AssistantMessage, Message, TextBlock } from "../llm/message.ts";
import type { AgentMessage, BashExecutionMessage } from "../session/message.ts";

/**
 * What the model is sent of a transcript, in its own vocabulary. Answers that failed stay in the transcript and
 * are left out here; of one that was aborted the text that had come goes along, its unfinished rest does not.
 */
export function messagesForModel(messages: readonly AgentMessage[]): Message[] {
  const sent: Message[] = [];
  /** Calls of answers that are left out: their results go too. */
  let dropped: Set<string> | undefined;
  for (const message of messages) {
    switch (message.role) {
      case "user":
        sent.push(message);
        break;
      case "assistant": {
        if (message.stopReason === "error" || message.stopReason === "aborted") {
          for (const block of message.content) if (block.type === "toolCall") (dropped ??= new Set()).add(block.id);
          const said = whatWasSaid(message);
          if (said) sent.push(said);
        } else {
          // Ids are unique within an answer only: some servers count from 0 in each.
          dropped = undefined;
          sent.push(message);
        }
        break;
      }
      case "toolResult":
        if (!dropped?.has(message.toolCallId)) sent.push(message);
        break;
      case "bashExecution":
        if (!message.excludeFromContext) sent.push(asUser(bashText(message), message.timestamp));
        break;
      case "custom":
        sent.push({ role: "user", content: message.content, timestamp: message.timestamp });
        break;
      case "branchSummary":
        sent.push(asUser(`The conversation went another way before it came back here. A summary of that way:\n\n${message.summary}`, message.timestamp));
        break;
      case "compactionSummary":
        sent.push(asUser(`The conversation so far was too long and has been replaced by this summary:\n\n${message.summary}`, message.timestamp));
        break;
      case "system":
        break;
    }
  }
  return sent;
}

function asUser(text: string, timestamp: number): Message {
  return { role: "user", content: [{ type: "text", text }], timestamp };
}

function whatWasSaid(message: AssistantMessage): AssistantMessage | undefined {
  if (message.stopReason === "error") return undefined;
  const content = message.content.filter((block): block is TextBlock => block.type === "text" && block.text.trim() !== "");
  return content.length ? { ...message, content } : undefined;
}

/** A command that the user ran, with its output, as the model reads it. */
export function bashText(message: BashExecutionMessage): string {
  const parts = [`The user ran a command:\n\n$ ${message.command}`];
  parts.push(message.output === "" ? "(no output)" : message.output.trimEnd());
  if (message.cancelled) parts.push("(It was cancelled.)");
  else if (message.exitCode !== undefined && message.exitCode !== 0) parts.push(`(Exit code ${message.exitCode}.)`);
  if (message.truncated) parts.push(`(Only the end of the output is shown${message.fullOutputPath === undefined ? "" : `; all of it is in ${message.fullOutputPath}`}.)`);
  return parts.join("\n\n");
}
