import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { textOf } from "../../src/llm/message.ts";
import { type Tool, ToolFailure, type ToolResult } from "../../src/tools/tool.ts";

export interface Called extends ToolResult {
  text: string;
  updates: ToolResult[];
}

/** Calls a tool as the agent does: arguments prepared and checked, failures as results. */
export async function call(tool: Tool, args: Record<string, unknown>, o: { cwd: string; signal?: AbortSignal; onUpdate?: () => void }): Promise<Called> {
  const updates: ToolResult[] = [];
  const update = (partial: ToolResult) => {
    updates.push(partial);
    o.onUpdate?.();
  };
  const checked = tool.parameters().parse(tool.prepare ? tool.prepare(args) : args);
  try {
    const result = await tool.run(checked, { cwd: o.cwd, toolCallId: "call", signal: o.signal ?? new AbortController().signal, update });
    return { ...result, text: textOf(result.content), updates };
  } catch (error) {
    if (!(error instanceof ToolFailure)) throw error;
    return { content: [{ type: "text", text: error.message }], text: error.message, isError: true, updates };
  }
}

/** A folder that is gone, with all in it, after `use`. */
export async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "rpi-tools-")));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
