import { Refusal } from "../base/refusal.ts";

/** A session's name as it is kept: trimmed, on one line. Throws Refusal when nothing is left. */
export function sessionName(text: string): string {
  const name = text.replace(/[\r\n]+/g, " ").trim();
  if (name === "") throw new Refusal("invalid", "Session name cannot be empty");
  return name;
}

/** The name that a `session_info` entry gives, which may be anything; undefined when it takes the name away. */
export function nameIn(entry: { name?: unknown }): string | undefined {
  return typeof entry.name === "string" ? entry.name.trim() || undefined : undefined;
}
