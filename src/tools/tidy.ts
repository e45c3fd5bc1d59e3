import { z } from "zod";

/**
 * Arguments as small models write them, made fit for their schema where the meaning is plain: `null` for
 * an optional field is left out, `"10"` becomes 10, `"true"` becomes true, a list or object written as
 * JSON text is parsed. Everything else stays for the validation to judge.
 */
export function tidy(args: Record<string, unknown>, schema: z.ZodObject): Record<string, unknown> {
  const result: Record<string, unknown> = { ...args };
  for (const [name, field] of Object.entries(schema.shape)) {
    const value = result[name];
    if (value === undefined) continue;
    const inner = field instanceof z.ZodOptional ? field.unwrap() : field;
    if (value === null && field instanceof z.ZodOptional) delete result[name];
    else if (typeof value !== "string") continue;
    else if (inner instanceof z.ZodNumber && value.trim() !== "" && Number.isFinite(Number(value))) result[name] = Number(value);
    else if (inner instanceof z.ZodBoolean && (value === "true" || value === "false")) result[name] = value === "true";
    else if (inner instanceof z.ZodArray || inner instanceof z.ZodObject) result[name] = parsed(value);
  }
  return result;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: the validation says what was expected.
    return text;
  }
}
