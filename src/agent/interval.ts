import { Refusal } from "../base/refusal.ts";
import { shorten } from "../base/text.ts";

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 } as const;
/** A century: what is longer is a slip, and far dates cannot be written. */
const MAX_DAYS = 36_500;

/** The seconds of `90`, `45s`, `5m`, `2h` or `1d`. Throws a Refusal (`invalid interval: …`) that says how it is written. */
export function parseInterval(text: string): number {
  const found = /^(\d+)([smhd]?)$/.exec(text);
  const shown = JSON.stringify(shorten(text, 40));
  if (!found) throw new Refusal("invalid", `invalid interval: ${shown} (write digits, and s, m, h or d for the unit: 90, 45s, 5m, 2h, 1d)`);
  const seconds = Number(found[1]) * SECONDS[(found[2] || "s") as keyof typeof SECONDS];
  if (seconds === 0) throw new Refusal("invalid", `invalid interval: ${shown} (it must be more than 0)`);
  if (seconds > MAX_DAYS * SECONDS.d) throw new Refusal("invalid", `invalid interval: ${shown} (at most ${MAX_DAYS}d)`);
  return seconds;
}
