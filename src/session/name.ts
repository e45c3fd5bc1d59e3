import { Refusal } from "../base/refusal.ts";

/** A session's name as it is kept: trimmed, on one line. Throws Refusal when nothing is left. */
export function sessionName(text: string): string {
  const name = text.replace(/[\r\n]+/g, " ").trim();
  if (name === "") throw new Refusal("invalid", "Session name cannot be empty");
  return name;
}
