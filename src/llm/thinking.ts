import { THINKING_LEVELS, type ModelSpec, type ThinkingLevel } from "./model.ts";

/** The levels a model takes, in rising order; `["off"]` without reasoning. `xhigh` and `max` only where the model's map names them. */
export function supportedLevels(spec: ModelSpec): ThinkingLevel[] {
  if (!spec.model.reasoning) return ["off"];
  return THINKING_LEVELS.filter((level) => {
    const word = spec.thinkingLevelMap?.[level];
    if (word === null) return false;
    return word !== undefined || (level !== "xhigh" && level !== "max");
  });
}

/** The nearest level the model takes: the next one up, else the next one down. */
export function clampLevel(spec: ModelSpec, level: ThinkingLevel): ThinkingLevel {
  const supported = supportedLevels(spec);
  const wanted = THINKING_LEVELS.indexOf(level);
  const up = THINKING_LEVELS.find((candidate, at) => at >= wanted && supported.includes(candidate));
  return up ?? supported.at(-1) ?? "off";
}

/** The provider's word for a level: the map's, else the level's own name; undefined when the model does not take it. */
export function levelWord(spec: ModelSpec, level: ThinkingLevel): string | undefined {
  const word = spec.thinkingLevelMap?.[level];
  return word === undefined ? level : (word ?? undefined);
}

/** Thinking tokens of a level where an api wants a number. */
const THINKING_BUDGETS: Record<Exclude<ThinkingLevel, "off">, number> = {
  minimal: 1024, low: 2048, medium: 8192, high: 16384, xhigh: 16384, max: 16384,
};

/** Tokens that a thinking budget leaves for the answer. */
const ANSWER_TOKENS = 1024;

/** The budget of a level under `maxTokens` that thinking and answer share; 0 when there is no room for both. */
export function thinkingBudget(level: ThinkingLevel, maxTokens: number | undefined): number {
  if (level === "off") return 0;
  const budget = THINKING_BUDGETS[level];
  return maxTokens === undefined ? budget : Math.max(0, Math.min(budget, maxTokens - ANSWER_TOKENS));
}
