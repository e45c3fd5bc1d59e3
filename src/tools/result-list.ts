import { sizeWords } from "../base/text.ts";
import { MAX_BYTES } from "./limits.ts";
import type { ToolResult } from "./tool.ts";

/** Lines of a result, as many as one may hold, with notes behind them. */
export class ResultList {
  readonly #lines: string[] = [];
  #bytes = 0;
  isFull = false;

  /** False when there is no room any more. */
  add(line: string): boolean {
    const bytes = Buffer.byteLength(line) + 1;
    if (this.#bytes + bytes > MAX_BYTES) this.isFull = true;
    if (this.isFull) return false;
    this.#lines.push(line);
    this.#bytes += bytes;
    return true;
  }

  result(o: { nothing: string; notes: readonly (string | false | undefined)[]; details?: Record<string, unknown> }): ToolResult {
    const notes = [...o.notes, this.isFull && `Cut at ${sizeWords(MAX_BYTES)}; narrow the search for the rest.`].filter((note) => typeof note === "string");
    const shown = this.#lines.length === 0 ? o.nothing : this.#lines.join("\n");
    const details = { ...o.details, ...(this.isFull && { truncation: { truncated: true, truncatedBy: "bytes", outputLines: this.#lines.length, outputBytes: this.#bytes } }) };
    return {
      content: [{ type: "text", text: notes.length === 0 ? shown : `${shown}\n\n[${notes.join(" ")}]` }],
      ...(Object.keys(details).length > 0 && { details }),
    };
  }
}
