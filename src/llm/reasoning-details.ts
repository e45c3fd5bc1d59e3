import { isObject } from "../base/json.ts";

/**
 * `reasoning_details` of OpenRouter: the provider's own form of its reasoning, encrypted parts included. It is kept
 * as the signature of the thinking block and goes back as it came.
 */
export class ReasoningDetails {
  readonly #details: Record<string, unknown>[] = [];

  get isEmpty(): boolean {
    return this.#details.length === 0;
  }

  /** Takes the pieces of one chunk; pieces of a text or summary that follow each other are one. */
  feed(pieces: readonly unknown[]): void {
    for (const piece of pieces) {
      if (!isObject(piece)) continue;
      const last = this.#details.at(-1);
      const field = piece.type === "reasoning.text" ? "text" : piece.type === "reasoning.summary" ? "summary" : undefined;
      if (field && last && last.type === piece.type && typeof last[field] === "string" && typeof piece[field] === "string") {
        const text = last[field] + piece[field];
        for (const [key, value] of Object.entries(piece)) if (value != null && value !== "") last[key] = value;
        last[field] = text;
      } else this.#details.push({ ...piece });
    }
  }

  toSignature(): string {
    return JSON.stringify(this.#details);
  }
}

/** The details that a signature holds; undefined when it is something else. */
export function detailsOf(signature: string | undefined): unknown[] | undefined {
  if (!signature?.startsWith("[{")) return undefined;
  try {
    const details: unknown = JSON.parse(signature);
    return Array.isArray(details) ? details : undefined;
  } catch {
    return undefined;
  }
}
