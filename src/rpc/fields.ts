import type { z as Z } from "zod";
import { fieldPath, type Zod } from "../base/zod.ts";
import type { Command } from "./command.ts";

const schemas = new WeakMap<Command, Z.ZodType>();

/** Checks the fields of a request against the command's schema; null is the same as leaving a field out. */
export function readFields(found: Command, record: Record<string, unknown>, z: Zod | undefined): { params: unknown } | { fault: string } {
  if (!found.params) return { params: {} };
  if (!z) throw new Error("fields cannot be checked yet");
  let schema = schemas.get(found);
  if (!schema) {
    schema = found.params(z);
    schemas.set(found, schema);
  }
  const fields = Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));
  const parsed = schema.safeParse(fields);
  if (parsed.success) return { params: parsed.data };
  return { fault: faultOf(parsed.error.issues[0]!, fields) };
}

function expected(issue: Z.core.$ZodIssue): string {
  if (issue.code === "invalid_type") return issue.expected;
  return issue.code === "invalid_value" ? issue.values.map(String).join(", ") : issue.message;
}

/** `spec.argv: must be an array`: the field's path and what is wrong with it. */
function faultOf(issue: Z.core.$ZodIssue, fields: unknown): string {
  let value = fields;
  for (const key of issue.path) value = value !== null && typeof value === "object" ? (value as Record<PropertyKey, unknown>)[key] : undefined;
  const why = value === undefined && issue.code !== "custom" ? `is required (${expected(issue)})` : issue.message;
  return `${fieldPath(issue.path) || "fields"}: ${why}`;
}
