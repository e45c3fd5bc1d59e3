import { isObject } from "../base/json.ts";
import { Refusal } from "../base/refusal.ts";
import { wordsOf } from "../base/text.ts";

/** One step of a scripted turn; a script step has exactly one of these keys. */
export type FauxStep =
  | { text: string }
  | { thinking: string }
  /** Arguments given as a string are sent as they are, JSON or not. */
  | { toolCall: { name: string; arguments?: Record<string, unknown> | string; id?: string } }
  | { delayMs: number }
  | { usage: { input?: number; output?: number; cacheRead?: number; cacheWrite?: number; reasoning?: number } }
  | { stopReason: "stop" | "length" | "toolUse" }
  | { error: { status?: number; message: string; retryAfterMs?: number } };

/** What the offline model plays: a list of steps for each turn. */
export interface FauxScript {
  turns: FauxStep[][];
}

/** Reads a script file's text. Throws Refusal("invalid") that names what is wrong and where. */
export function parseFauxScript(text: string): FauxScript {
  let script: unknown;
  try {
    script = JSON.parse(text);
  } catch (error) {
    throw new Refusal("invalid", `faux script: not JSON: ${wordsOf(error)}`);
  }
  const turns = isObject(script) ? script.turns : undefined;
  if (!Array.isArray(turns)) throw new Refusal("invalid", 'faux script: expected {"turns":[[step,…],…]}');
  return {
    turns: turns.map((turn: unknown, at) => {
      if (!Array.isArray(turn)) throw new Refusal("invalid", `faux script: turns[${at}] is not a list of steps`);
      return turn.map((step: unknown, index) => checked(step, `turns[${at}][${index}]`));
    }),
  };
}

function checked(step: unknown, place: string): FauxStep {
  if (isObject(step)) {
    for (const [key, check] of Object.entries(CHECKS)) {
      if (!(key in step)) continue;
      if (check(step[key])) return step as FauxStep;
      throw new Refusal("invalid", `faux script: ${place}.${key} is not as it should be`);
    }
  }
  throw new Refusal("invalid", `faux script: ${place}: a step is one of ${Object.keys(CHECKS).join(", ")}`);
}

const isText = (value: unknown) => typeof value === "string";
const isCount = (value: unknown) => typeof value === "number" && value >= 0 && Number.isFinite(value);
const isMaybe = (check: (value: unknown) => boolean) => (value: unknown) => value === undefined || check(value);

const CHECKS: Record<string, (value: unknown) => boolean> = {
  text: isText,
  thinking: isText,
  toolCall: (call) => isObject(call) && isText(call.name) && isMaybe(isText)(call.id) && isMaybe((args) => isText(args) || isObject(args))(call.arguments),
  delayMs: isCount,
  usage: (usage) => isObject(usage) && Object.values(usage).every(isCount),
  stopReason: (reason) => reason === "stop" || reason === "length" || reason === "toolUse",
  error: (error) => isObject(error) && isText(error.message) && isMaybe(isCount)(error.status) && isMaybe(isCount)(error.retryAfterMs),
};
