import type { ModelSpec } from "./model.ts";

interface Rule {
  /** What an id must not hold. */
  forbidden: RegExp;
  maxLength: number;
  /** Every id must be exactly this long. */
  exactLength?: number;
}

const ANTHROPIC: Rule = { forbidden: /[^a-zA-Z0-9_-]/g, maxLength: 64 };
const OPENAI: Rule = { forbidden: /[^a-zA-Z0-9_.:-]/g, maxLength: 40 };
const MISTRAL: Rule = { forbidden: /[^a-zA-Z0-9]/g, maxLength: 9, exactLength: 9 };

/**
 * Ids of tool calls as an api takes them: never empty, never twice in a request. The same calls in the same
 * places get the same ids every time, for the sake of prompt caches.
 */
export class ToolCallIds {
  readonly #rule: Rule;
  readonly #used = new Set<string>();

  constructor({ model }: ModelSpec) {
    const isMistral = model.provider === "mistral" || model.baseUrl.includes("api.mistral.ai");
    this.#rule = model.api === "anthropic-messages" ? ANTHROPIC : isMistral ? MISTRAL : OPENAI;
  }

  /** The id to send for one that came, which may be empty or used before. */
  next(id: string): string {
    let candidate = this.#fitting(id || `call_${this.#used.size}`);
    for (let n = 2; this.#used.has(candidate); n += 1) candidate = this.#fitting(`${id || "call"}_${n}`);
    this.#used.add(candidate);
    return candidate;
  }

  #fitting(id: string): string {
    const { forbidden, maxLength, exactLength } = this.#rule;
    const clean = id.replace(forbidden, "_").replace(forbidden, "");
    if (exactLength ? clean.length === exactLength && clean === id : clean.length <= maxLength) return clean;
    const hash = Bun.hash(id).toString(36).padStart(13, "0");
    if (exactLength) return hash.slice(-exactLength);
    return `${clean.slice(0, maxLength - 9)}_${hash.slice(-8)}`;
  }
}
