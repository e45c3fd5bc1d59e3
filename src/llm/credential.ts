import { RequestFailed } from "./failure.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const REFERENCE = /\$(?:([$!])|\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g;

/** Variables that a value of models.json names and that are not set. A `!command` names none. */
export function missingNames(value: string, env: Environment): string[] {
  if (value.startsWith("!") || !value.includes("$")) return [];
  const missing: string[] = [];
  for (const [, , braced, bare] of value.matchAll(REFERENCE)) {
    const name = braced ?? bare;
    if (name && !env[name]) missing.push(name);
  }
  return missing;
}

/**
 * A key or header value of models.json or auth.json: a literal, `$NAME`/`${NAME}` in any place (`$$` and `$!` are
 * `$` and `!`), or `!command`, which runs at its first use. Throws RequestFailed of kind `auth`.
 */
export async function resolveValue(value: string, env: Environment, signal: AbortSignal): Promise<string> {
  if (value.startsWith("!")) {
    const { commandOutput } = await import("./key-command.ts");
    return commandOutput(value.slice(1), env, signal);
  }
  const [missing] = missingNames(value, env);
  if (missing) throw new RequestFailed({ kind: "auth", message: `The environment variable ${missing} is not set.` });
  return value.replace(REFERENCE, (_, escaped: string | undefined, braced: string | undefined, bare: string | undefined) =>
    escaped ?? env[braced ?? bare ?? ""] ?? "");
}
