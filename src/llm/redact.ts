import type { ModelSpec } from "./model.ts";

/** Shorter ones would black out ordinary words. */
const SHORTEST_SECRET = 8;

/** The words without the key and the header values that went with the request, should a server have said them back. */
export function redact(words: string, spec: ModelSpec, apiKey: string | undefined): string {
  let clean = words;
  for (const secret of [apiKey, ...Object.values(spec.headers ?? {})]) {
    if (secret && secret.length >= SHORTEST_SECRET) clean = clean.replaceAll(secret, "[redacted]");
  }
  return clean;
}
