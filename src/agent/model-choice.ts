import { Refusal } from "../base/refusal.ts";
import type { Model, ModelSpec, ThinkingLevel } from "../llm/model.ts";
import type { Choice } from "../llm/pattern.ts";
import type { ModelRegistry } from "../llm/registry.ts";
import { clampLevel, supportedLevels } from "../llm/thinking.ts";
import type { Session } from "../session/session.ts";
import type { AgentEvent } from "./events.ts";
import { stored } from "./stored.ts";

export interface ModelChoiceHost {
  models: Pick<ModelRegistry, "available" | "find" | "hasKey">;
  session(): Session;
  emit(event: AgentEvent): void;
}

/** The model and thinking level of a session. Each change is stored, then told, before the call returns. */
export class ModelChoice {
  #level: ThinkingLevel;
  /** What was asked for last, before a model's limits: it counts again with a model that supports it. */
  #wanted: ThinkingLevel;

  constructor(
    private readonly host: ModelChoiceHost,
    private spec: ModelSpec | undefined,
    level: ThinkingLevel,
    /** The models that cycling stays in (`--models`); none means all that are available. */
    public scope: readonly Choice[] = [],
  ) {
    this.#wanted = level;
    this.#level = this.#clamped(level);
  }

  get model(): ModelSpec | undefined {
    return this.spec;
  }

  get level(): ThinkingLevel {
    return this.#level;
  }

  get levels(): ThinkingLevel[] {
    return this.spec ? supportedLevels(this.spec) : ["off"];
  }

  /** What a prompt needs; refused with words on how to get it. */
  usable(): ModelSpec {
    if (!this.spec) throw new Refusal("unavailable", "No model is chosen. Start with --model <provider>/<id>, set defaultProvider and defaultModel in settings.json, or send set_model. get_available_models lists what can be used.");
    this.#needKey(this.spec);
    return this.spec;
  }

  /** Takes a model, and with it the level asked for, within the model's limits. */
  setModel(spec: ModelSpec, level: ThinkingLevel = this.#wanted): Model {
    this.#needKey(spec);
    const { provider, id: modelId } = spec.model;
    stored("The model was not changed", () => this.host.session().append({ type: "model_change", provider, modelId }));
    this.spec = spec;
    this.host.emit({ type: "model_changed", model: spec.model });
    this.setLevel(level);
    return spec.model;
  }

  /** The next model of the scope or of all that are available; null when there is no other. */
  cycleModel(): { model: Model; thinkingLevel: ThinkingLevel; isScoped: boolean } | null {
    const { models } = this.host;
    const isScoped = this.scope.length > 0;
    const all = isScoped ? this.scope.filter((choice) => models.hasKey(choice.spec)) : this.#available();
    const at = all.findIndex(({ spec }) => this.#isCurrent(spec.model));
    const next = all[(at + 1) % all.length];
    if (!next || this.#isCurrent(next.spec.model)) return null;
    this.setModel(next.spec, next.level);
    return { model: next.spec.model, thinkingLevel: this.#level, isScoped };
  }

  setLevel(requested: ThinkingLevel): { requested: ThinkingLevel; level: ThinkingLevel; clamped: boolean } {
    const level = this.#clamped(requested);
    const session = this.host.session();
    // A flag's level holds for one run of rpi; one that is asked for stays with the session.
    if (level !== (session.thinkingLevel() ?? this.#level)) stored("The thinking level was not changed", () => session.append({ type: "thinking_level_change", thinkingLevel: level }));
    if (level !== this.#level) {
      this.#level = level;
      this.host.emit({ type: "thinking_level_changed", level });
    }
    this.#wanted = requested;
    return { requested, level, clamped: level !== requested };
  }

  /** The next level that the model supports; null without reasoning. */
  cycleLevel(): { level: ThinkingLevel } | null {
    const { levels } = this;
    if (!this.spec?.model.reasoning || levels.length < 2) return null;
    return { level: this.setLevel(levels[(levels.indexOf(this.#level) + 1) % levels.length] ?? "off").level };
  }

  /** Takes what a session was left with, without storing or telling it. */
  restore(spec: ModelSpec | undefined, level: ThinkingLevel): void {
    this.spec = spec;
    this.#wanted = level;
    this.#level = this.#clamped(level);
  }

  /** Takes another scope, and what the models are now. */
  reload(scope: readonly Choice[]): void {
    this.scope = scope;
    const found = this.spec && this.host.models.find(this.spec.model.provider, this.spec.model.id);
    if (found) this.restore(found, this.#wanted);
  }

  #clamped(level: ThinkingLevel): ThinkingLevel {
    return this.spec ? clampLevel(this.spec, level) : level;
  }

  /** The built-in offline model is never come to by cycling. */
  #available(): Choice[] {
    const { models } = this.host;
    return models.available().filter(({ provider }) => provider !== "faux").flatMap(({ provider, id }) => {
      const spec = models.find(provider, id);
      return spec ? [{ spec }] : [];
    });
  }

  #isCurrent(model: Model): boolean {
    return this.spec?.model.provider === model.provider && this.spec.model.id === model.id;
  }

  #needKey(spec: ModelSpec): void {
    if (this.host.models.hasKey(spec)) return;
    const { model } = spec;
    throw new Refusal("unavailable", `No key for ${model.provider}/${model.id}. Give one with --api-key, in the provider's environment variable, in auth.json, or as apiKey of the provider in models.json.`);
  }
}
