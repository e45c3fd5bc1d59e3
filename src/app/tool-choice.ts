import { Refusal } from "../base/refusal.ts";
import type { Flags } from "../settings/flags.ts";
import { BUILT_IN, DEFAULT_TOOLS } from "../tools/catalog.ts";

/** The names that --tools, --exclude-tools and the --no-… switches leave (their rules are pi's). */
export function chooseTools(flags: Flags): string[] {
  const names = (text: string | undefined) => text?.split(",").map((one) => one.trim()).filter(Boolean);
  const listed = names(flags.tools);
  const changes = listed?.filter((name) => /^[+-]/.test(name)) ?? [];
  if (listed && changes.length > 0 && changes.length < listed.length) throw new Refusal("invalid", "--tools takes either names, or only +name and -name");
  let chosen: string[] = flags["no-tools"] || flags["no-builtin-tools"] ? [] : [...DEFAULT_TOOLS];
  if (changes.length > 0) {
    const removed = new Set(changes.filter((one) => one.startsWith("-")).map((one) => one.slice(1)));
    chosen = [...new Set([...chosen, ...changes.filter((one) => one.startsWith("+")).map((one) => one.slice(1))])].filter((name) => !removed.has(name));
  } else if (listed) chosen = listed.flatMap((name) => (name.includes("*") ? BUILT_IN.filter((one) => new Bun.Glob(name).match(one)) : [name]));
  const excluded = names(flags["exclude-tools"])?.map((pattern) => new Bun.Glob(pattern)) ?? [];
  return chosen.filter((name) => !excluded.some((glob) => glob.match(name)));
}
