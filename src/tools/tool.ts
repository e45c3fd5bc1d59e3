import type { z } from "zod";
import type { ImageBlock, TextBlock } from "../llm/message.ts";

export interface ToolResult {
  content: (TextBlock | ImageBlock)[];
  /** For clients, never for the model; no copies of what `content` holds. */
  details?: unknown;
  /** The text says what went wrong and what to do. */
  isError?: boolean;
}

export interface ToolContext {
  /** Absolute; relative paths of arguments are resolved against it. */
  cwd: string;
  toolCallId: string;
  /** Aborts when the run does; may be aborted already. */
  signal: AbortSignal;
  /** Progress; the agent thins these to ten a second a call. */
  update(partial: ToolResult): void;
  /** See StreamOptions.ready: awaited between pieces of a long output. */
  ready?(): Promise<void> | undefined;
}

/** Something a model may do. */
export interface Tool<Args = any> {
  name: string;
  /** For the model: what it does, in its prose file beside the tool. */
  description: string;
  /** One line for the system prompt's list of tools. */
  snippet: string;
  /** Built on first use; also the source of the JSON Schema the model is sent. */
  parameters: () => z.ZodType<Args>;
  /**
   * Old names and shapes of arguments to today's, before validation (pi: `{path,oldText,newText}` of edit).
   */
  prepare?(args: Record<string, unknown>): Record<string, unknown>;
  /** A failure is a result with `isError`. What it throws is shown to the model too, and logged as a bug unless it is a ToolFailure. */
  run(args: Args, context: ToolContext): Promise<ToolResult>;
}

/** An expected failure of a tool, with the text for the model. */
export class ToolFailure extends Error {
  override readonly name = "ToolFailure";
}
