import { isObject } from "../base/json.ts";
import type { ToolCall } from "./message.ts";
import { parseLenient } from "./lenient-json.ts";

/** Beside the call, not in it: a fault goes neither to the wire nor to disk. */
const faults = new WeakMap<ToolCall, string>();

/** Why the arguments of this call are not to be trusted: they were no JSON object, or were cut off. */
export function argumentFault(call: ToolCall): string | undefined {
  return faults.get(call);
}

/** Notes why the arguments of a call are not to be trusted. */
export function markFault(call: ToolCall, fault: string): void {
  faults.set(call, fault);
}

/** The arguments that a model wrote, as far as they can be read. No text at all is no arguments. */
export function parseArguments(text: string): { arguments: Record<string, unknown>; fault?: string } {
  if (text.trim() === "") return { arguments: {} };
  let { value, fault } = parseLenient(text);
  // Some servers encode the object twice.
  if (typeof value === "string" && !fault) ({ value, fault } = parseLenient(value));
  if (value === null && !fault) return { arguments: {} };
  if (!isObject(value)) return { arguments: {}, fault: fault ?? "the arguments are no JSON object" };
  return fault ? { arguments: value, fault } : { arguments: value };
}
