import { THINKING_LEVELS, type ModelSpec, type ThinkingLevel } from "./model.ts";

/** A model that was asked for, with the level if one was. */
export interface Choice {
  spec: ModelSpec;
  level?: ThinkingLevel;
}

/** `id:level` in its two parts; a last word that is no level belongs to the id. */
export function splitLevel(text: string): { id: string; level?: ThinkingLevel } {
  const colon = text.lastIndexOf(":");
  const level = THINKING_LEVELS.find((candidate) => candidate === text.slice(colon + 1));
  return colon > 0 && level ? { id: text.slice(0, colon), level } : { id: text };
}

/** The model that `[provider/]id[:level]` means, or a part of an id or a name when nothing is exact. */
export function resolvePattern(pattern: string, provider: string | undefined, specs: readonly ModelSpec[], usable: (spec: ModelSpec) => boolean): Choice | undefined {
  const text = pattern.trim();
  if (text === "") return undefined;
  const pool = provider ? specs.filter((spec) => same(spec.model.provider, provider)) : specs;
  const split = splitLevel(text);
  const exact = exactly(text, pool, usable);
  if (exact) return { spec: exact };
  const spec = exactly(split.id, pool, usable) ?? vaguely(split.id, pool, usable);
  return spec && (split.level ? { spec, level: split.level } : { spec });
}

/** Every model that one of the patterns means, each once, in the order of the patterns. */
export function matchPatterns(patterns: readonly string[], specs: readonly ModelSpec[]): Choice[] {
  const found = new Map<ModelSpec, Choice>();
  for (const pattern of patterns) {
    for (const choice of matchPattern(pattern.trim(), specs)) if (!found.has(choice.spec)) found.set(choice.spec, choice);
  }
  return [...found.values()];
}

function matchPattern(pattern: string, specs: readonly ModelSpec[]): Choice[] {
  if (pattern === "") return [];
  if (/[*?[]/.test(pattern)) {
    const { id, level } = splitLevel(pattern);
    const glob = globOf(id);
    const matches = specs.filter(({ model }) => glob.test(model.id) || glob.test(`${model.provider}/${model.id}`));
    if (matches.length) return matches.map((spec) => (level ? { spec, level } : { spec }));
  }
  const choice = resolvePattern(pattern, undefined, specs, () => true);
  return choice ? [choice] : [];
}

/** By the whole id, with the provider before it or not; of several providers' the first usable one. */
function exactly(text: string, pool: readonly ModelSpec[], usable: (spec: ModelSpec) => boolean): ModelSpec | undefined {
  for (const equal of [(a: string, b: string) => a === b, same]) {
    const named = pool.find(({ model }) => equal(`${model.provider}/${model.id}`, text));
    if (named) return named;
    const matches = pool.filter(({ model }) => equal(model.id, text));
    if (matches.length) return matches.find(usable) ?? matches[0];
  }
  return undefined;
}

/** By a part of the id or name. Names without a date come first, then the latest; faux is never guessed. */
function vaguely(text: string, pool: readonly ModelSpec[], usable: (spec: ModelSpec) => boolean): ModelSpec | undefined {
  const slash = text.indexOf("/");
  const owner = text.slice(0, slash).toLowerCase();
  const owned = slash > 0 ? pool.filter(({ model }) => model.provider.toLowerCase() === owner) : [];
  const part = (owned.length ? text.slice(slash + 1) : text).toLowerCase();
  if (part === "") return undefined;
  const matches = (owned.length ? owned : pool).filter(({ model }) =>
    (model.api !== "faux" || part.startsWith("faux")) && (model.id.toLowerCase().includes(part) || model.name.toLowerCase().includes(part)));
  const rank = (spec: ModelSpec) => (usable(spec) ? 2 : 0) + (/-\d{8}$/.test(spec.model.id) ? 0 : 1);
  return matches.sort((a, b) => rank(b) - rank(a) || b.model.id.localeCompare(a.model.id))[0];
}

function same(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** `*` and `?` cross slashes: ids of routers hold them. */
function globOf(pattern: string): RegExp {
  const source = pattern.replace(/\[!?[^\]]*\]|[*?]|[\\^$.|+(){}[\]]/g, (part) => {
    if (part === "*") return ".*";
    if (part === "?") return ".";
    if (part.length > 1) return part.replace("[!", "[^").replaceAll("\\", "\\\\");
    return `\\${part}`;
  });
  try {
    return new RegExp(`^${source}$`, "i");
  } catch {
    // A set such as [z-a] is no pattern: it matches nothing.
    return /^\b$/;
  }
}
