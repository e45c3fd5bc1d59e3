/**
 * The schema builder as a type. Loading zod costs as much as the rest of the start together, so what a start
 * needs declares its schemas as functions of it, and whoever checks something loads it then.
 */
export type Zod = typeof import("zod").z;

/** Where a field stands, as people write it: `spec.argv[0]`; empty for the whole. */
export function fieldPath(keys: readonly PropertyKey[]): string {
  return keys.map((key, i) => (typeof key === "number" ? `[${key}]` : `${i ? "." : ""}${String(key)}`)).join("");
}
