import type { z } from "zod";
import { fieldPath } from "../base/zod.ts";
import type { Tool } from "../tools/tool.ts";

export type Checked = { args: unknown } | { fault: string };

/** Checks the arguments of a call against its tool; a fault is told in words that a model can act on. */
export function checkArguments(tool: Tool, given: Record<string, unknown>): Checked {
  const result = tool.parameters().safeParse(tool.prepare ? tool.prepare(given) : given);
  if (result.success) return { args: result.data };
  return { fault: `Invalid arguments for ${tool.name}:\n${faults(result.error)}\nCall it again with arguments that fit its schema.` };
}

function faults(error: z.ZodError): string {
  return error.issues.map((issue) => `- ${issue.path.length ? `${fieldPath(issue.path)}: ` : ""}${issue.message}`).join("\n");
}
