import { type Flag, flagGroups } from "../settings/flags.ts";

/** The text of `rpi --help`. */
export function helpText(): string {
  const lines = [
    "rpi: a headless coding agent that a program talks to in JSON lines",
    "",
    "Usage: rpi rpc [flags]          (the same as rpi --mode rpc)",
    "       rpi schema               print the JSON Schema of every record",
    "       rpi sessions [--all] [--json]",
    "",
    "One JSON object a line goes in on stdin and comes out on stdout; stderr is for people.",
  ];
  for (const [title, group] of Object.entries(flagGroups)) {
    lines.push("", `${title}:`);
    for (const [name, flag] of Object.entries(group as Record<string, Flag>)) {
      const left = `  ${flag.short ? `-${flag.short}, ` : ""}--${name}${flag.value ? ` <${flag.value}>` : ""}`;
      lines.push(flag.help ? `${left.padEnd(40)} ${flag.help}` : left);
    }
  }
  lines.push("", "Exit codes: 0 done, 1 failed, 2 usage, 129/130/143 ended by SIGHUP/SIGINT/SIGTERM.");
  return `${lines.join("\n")}\n`;
}
