import { Refusal } from "../base/refusal.ts";
import type { Flags } from "../settings/flags.ts";
import { type ModelSpec, THINKING_LEVELS, type ThinkingLevel } from "../llm/model.ts";
import type { Choice } from "../llm/pattern.ts";
import { clampLevel } from "../llm/thinking.ts";
import type { Session } from "../session/session.ts";
import type { Configuration } from "./configuration.ts";

/**
 * The model and level that a session begins with: flag > what the session had > the first of --models >
 * settings > the first that can be used. faux is never picked by itself. An unknown --model is a Refusal.
 */
export function chooseModel(configuration: Configuration, flags: Flags, session: Session): { spec: ModelSpec | undefined; level: ThinkingLevel } {
  const { models, settings } = configuration;
  const chosen = fromFlag(configuration, flags) ?? fromSession(configuration, session) ?? configuration.scope[0] ?? fromSettings(configuration) ?? firstUsable(configuration);
  const level = (flags.thinking as ThinkingLevel | undefined) ?? chosen?.level ?? storedLevel(session) ?? settings.defaultThinkingLevel;
  const spec = chosen?.spec;
  if (flags.provider && !flags.model && !models.available().some((model) => model.provider === flags.provider)) {
    throw new Refusal("not_found", `--provider ${flags.provider} has no model that can be used; give it in models.json, or name a model with --model`);
  }
  return { spec, level: spec ? clampLevel(spec, level) : "off" };
}

/**
 * The model and level that a session was left with, for the agent that goes on with it; what cannot be used any
 * more, or was never said, stays as the agent has it.
 */
export function modelOf(configuration: Configuration, session: Session, agent: { model: ModelSpec | undefined; thinkingLevel: ThinkingLevel }): { spec: ModelSpec | undefined; level: ThinkingLevel } {
  const spec = fromSession(configuration, session)?.spec ?? agent.model;
  const level = storedLevel(session) ?? agent.thinkingLevel;
  return { spec, level: spec ? clampLevel(spec, level) : level };
}

function storedLevel(session: Session): ThinkingLevel | undefined {
  const stored = session.thinkingLevel();
  return THINKING_LEVELS.find((level) => level === stored);
}

function fromFlag({ models }: Configuration, flags: Flags): Choice | undefined {
  if (!flags.model) return undefined;
  const found = models.resolve(flags.model, flags.provider);
  if (found) return found;
  const known = models.available().map((model) => `${model.provider}/${model.id}`).slice(0, 8);
  throw new Refusal("not_found", `Model not found: ${flags.provider ? `${flags.provider}/` : ""}${flags.model}. There are: ${known.join(", ")}`);
}

function fromSession({ models }: Configuration, session: Session): Choice | undefined {
  const stored = session.modelChoice();
  // A model that nobody declared is only known by its full name.
  const spec = stored && (models.find(stored.provider, stored.modelId) ?? models.resolve(`${stored.provider}/${stored.modelId}`)?.spec);
  return spec && models.hasKey(spec) ? { spec } : undefined;
}

function fromSettings({ models, settings }: Configuration): Choice | undefined {
  if (!settings.defaultModel) return undefined;
  const spec = settings.defaultProvider ? models.find(settings.defaultProvider, settings.defaultModel) : models.resolve(settings.defaultModel)?.spec;
  return spec && models.hasKey(spec) ? { spec } : undefined;
}

function firstUsable({ models, settings }: Configuration): Choice | undefined {
  const usable = models.available().filter((model) => model.provider !== "faux");
  const first = usable.find((model) => model.provider === settings.defaultProvider) ?? usable[0];
  const spec = first && models.find(first.provider, first.id);
  return spec && { spec };
}
