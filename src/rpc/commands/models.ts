import { z } from "zod";
import { command } from "../command.ts";
import { level, model } from "../shapes.ts";

export const models = {
  set_model: command({
    summary: "Use another model from the next model call on.",
    when: "now",
    params: () => z.object({ provider: z.string(), modelId: z.string() }),
    data: model,
    run: (app, { provider, modelId }) => app.setModel(provider, modelId),
  }),
  cycle_model: command({
    summary: "Use the next model of the scope (--models), or of all; null when there is only one.",
    when: "now",
    data: () => z.looseObject({ model: model(), thinkingLevel: level(), isScoped: z.boolean() }).nullable(),
    run: ({ agent }) => agent.cycleModel(),
  }),
  get_available_models: command({
    summary: "The models that can be used: those with a credential, and the built-in one.",
    when: "now",
    data: () => z.looseObject({ models: z.array(model()) }),
    run: (app) => ({ models: app.models.available() }),
  }),
  set_thinking_level: command({
    summary: "How much the model thinks; a level it lacks becomes the nearest it has.",
    when: "now",
    params: () => z.object({ level: level() }),
    data: () => z.looseObject({ requested: level(), level: level(), clamped: z.boolean() }),
    run: ({ agent }, params) => agent.setLevel(params.level),
  }),
  cycle_thinking_level: command({
    summary: "The next level of the model; null for a model without reasoning.",
    when: "now",
    data: () => z.looseObject({ level: level() }).nullable(),
    run: ({ agent }) => agent.cycleLevel(),
  }),
  get_available_thinking_levels: command({
    summary: "The levels of the model.",
    when: "now",
    data: () => z.looseObject({ levels: z.array(level()) }),
    run: ({ agent }) => ({ levels: agent.levels() }),
  }),
};
