import { z } from "zod";
import type { ToolSchema } from "../llm/model.ts";
import type { Tool } from "./tool.ts";

const known = new WeakMap<Tool, ToolSchema>();

/** What a model is told of a tool; made once a tool. */
export function toolSchema(tool: Tool): ToolSchema {
  let schema = known.get(tool);
  if (!schema) {
    const { $schema: _, ...parameters } = z.toJSONSchema(tool.parameters(), { io: "input" }) as Record<string, unknown>;
    schema = { name: tool.name, description: tool.description, parameters };
    known.set(tool, schema);
  }
  return schema;
}
