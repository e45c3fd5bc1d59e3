import type { ModelSpec } from "./model.ts";

/** The built-in offline model (protocol.md, section 1). */
export const FAUX: ModelSpec = {
  model: {
    id: "faux-1",
    name: "Faux 1 (offline)",
    api: "faux",
    provider: "faux",
    baseUrl: "",
    reasoning: false,
    input: ["text", "image"],
    contextWindow: 128_000,
    maxTokens: 16_384,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  },
};
