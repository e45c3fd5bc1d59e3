import type { z as Z } from "zod";
import type { App } from "../app.ts";
import type { Zod } from "../base/zod.ts";

/**
 * When a command begins (protocol.md, section 3, Order).
 * - `always`: at once, whatever else is under way (`abort*`, `get_state`, `process_*`, dialog answers).
 * - `now`: at once, but after session commands that came before it.
 * - `session`: one after another.
 * - `free`: at once, beside everything.
 */
export type When = "always" | "now" | "session" | "free";

/** What a handler may know of its request beside the fields. */
export interface Request {
  /** As the client wrote it. */
  id?: string | number;
  /** Ends with the session commands that came before and have not ended. */
  sessionBefore?: Promise<void>;
  /** Lets the next session command begin although this one is not answered yet. */
  release(): void;
}

/** An answer with something that must happen right after it was written (a run's first event). */
export class Answer {
  constructor(
    readonly data: unknown,
    readonly after: () => void,
  ) {}
}

/** A command of the protocol, declared once: dispatch, validation and the schema come from it. */
export interface Command<P = any> {
  /** One line for the reference. */
  summary: string;
  when: When;
  /** Answered and begun even while the reader of stdout is far behind. */
  urgent?: boolean;
  /** Session commands that come after it begin when it is done (`abort` then `prompt` in one write). */
  holdsSession?: boolean;
  /** Does not hold the end of input (protocol.md, section 11). */
  background?: boolean;
  /** Built on first use; a command without fields has none. */
  params?: (z: Zod) => Z.ZodType<P>;
  /** The schema of `data`; null when there is no payload. */
  data: (z: Zod) => Z.ZodType;
  run(app: App, params: P, request: Request): unknown;
}

/** Declares a command; the type of its fields follows from `params`. */
export function command<P = Record<string, never>>(declared: Command<P>): Command<P> {
  return declared;
}
