import type { Zod } from "../../base/zod.ts";
import { command } from "../command.ts";
import { level, model } from "../shapes.ts";

export const models = {
  set_model: command({
    summary: "Use another model from the next model call on.",
    when: "now",
    params: (z) => z.object({ provider: z.string(), modelId: z.string() }),
    data: model,
    run: (app, { provider, modelId }) => app.setModel(provider, modelId),
  }),
  cycle_model: command({
    summary: "Use the next model of the scope (--models), or of all; null when there is only one.",
    when: "now",
    data: (z) => z.looseObject({ model: model(z), thinkingLevel: level(z), isScoped: z.boolean() }).nullable(),
    run: ({ agent }) => agent.cycleModel(),
  }),
  get_available_models: command({
    summary: "The models that can be used: those with a credential, and the built-in one.",
    when: "now",
    data: (z) => z.looseObject({ models: z.array(model(z)) }),
    run: (app) => ({ models: app.models.available() }),
  }),
  set_thinking_level: command({
    summary: "How much the model thinks; a level it lacks becomes the nearest it has.",
    when: "now",
    params: (z) => z.object({ level: level(z) }),
    data: (z) => z.looseObject({ requested: level(z), level: level(z), clamped: z.boolean() }),
    run: ({ agent }, params) => agent.setLevel(params.level),
  }),
  cycle_thinking_level: command({
    summary: "The next level of the model; null for a model without reasoning.",
    when: "now",
    data: (z) => z.looseObject({ level: level(z) }).nullable(),
    run: ({ agent }) => agent.cycleLevel(),
  }),
  get_available_thinking_levels: command({
    summary: "The levels of the model.",
    when: "now",
    data: (z) => z.looseObject({ levels: z.array(level(z)) }),
    run: ({ agent }) => ({ levels: agent.levels() }),
  }),
};
