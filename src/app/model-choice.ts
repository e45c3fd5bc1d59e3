import path from "node:path";
import { Refusal } from "../base/refusal.ts";
import type { Flags } from "../settings/flags.ts";
import { type ModelSpec, THINKING_LEVELS, type ThinkingLevel } from "../llm/model.ts";
import type { Choice } from "../llm/pattern.ts";
import { clampLevel } from "../llm/thinking.ts";
import type { Session } from "../session/session.ts";
import type { Configuration } from "./configuration.ts";

/** The model that `--model` names, if it is given. Throws Refusal when there is none such, or none of `--provider`. */
export function askedModel(configuration: Configuration, { model, provider }: Flags): Choice | undefined {
  const { models } = configuration;
  if (model) {
    const found = models.resolve(model, provider);
    if (found) return found;
    throw notFound(configuration, provider && !model.startsWith(`${provider}/`) ? `${provider}/${model}` : model);
  }
  if (provider && !models.available().some((one) => one.provider === provider)) {
    throw new Refusal("not_found", `--provider ${provider} has no model that can be used; give it in models.json, or name a model with --model`);
  }
  return undefined;
}

/** The model of a provider with exactly this id. Throws Refusal when there is none such, in the words that clients know. */
export function namedModel({ models }: Configuration, provider: string, id: string): ModelSpec {
  const name = `${provider}/${id}`;
  const spec = models.find(provider, id) ?? models.resolve(name)?.spec;
  if (spec?.model.provider !== provider || spec.model.id !== id) throw new Refusal("not_found", `Model not found: ${name}`);
  return spec;
}

/** Says what there is, and what would have to be done for the model that was asked for. */
function notFound({ models, notices, agentDir }: Configuration, name: string): Refusal {
  const faults = notices.filter(({ code }) => code === "bad_file").map(({ message }) => message);
  const known = models.available().map((one) => `${one.provider}/${one.id}`).slice(0, 8);
  const advice = models.lacks(name.split("/", 1)[0]!) ?? `Others have to be described in ${path.join(agentDir, "models.json")}.`;
  return new Refusal("not_found", `Model not found: ${name}. There are: ${known.join(", ")}. ${faults.length > 0 ? `What was ignored may be why: ${faults.join("; ")}` : advice}`);
}

/**
 * The model and level that a session begins with: flag > what the session had > the first of --models >
 * settings > the first that can be used; with --provider alone, those of it. faux is never picked by itself.
 */
export function chooseModel(configuration: Configuration, flags: Flags, session: Session, asked: Choice | undefined): { spec: ModelSpec | undefined; level: ThinkingLevel } {
  const chosen = asked ?? candidates(configuration, flags, session).find(({ spec }) => !flags.provider || spec.model.provider === flags.provider);
  const level = (flags.thinking as ThinkingLevel | undefined) ?? chosen?.level ?? storedLevel(session) ?? configuration.settings.defaultThinkingLevel;
  const spec = chosen?.spec;
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

/** Best first, each looked up when it is asked for. */
function* candidates(configuration: Configuration, flags: Flags, session: Session): Generator<Choice> {
  const left = fromSession(configuration, session);
  if (left) yield left;
  yield* configuration.scope;
  const preferred = fromSettings(configuration);
  if (preferred) yield preferred;
  yield* usable(configuration, flags);
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

/** Those of the default provider first. */
function* usable({ models, settings }: Configuration, flags: Flags): Generator<Choice> {
  const all = models.available().filter(({ provider }) => provider !== "faux" || flags.provider === "faux");
  const isPreferred = ({ provider }: { provider: string }) => provider === settings.defaultProvider;
  for (const { provider, id } of [...all.filter(isPreferred), ...all.filter((one) => !isPreferred(one))]) {
    const spec = models.find(provider, id);
    if (spec) yield { spec };
  }
}
