import type { ModelServer, Served } from "./model-server.ts";

/** The files of an agent folder in which `served/m` is a model of this server, in the dialect of Chat Completions. */
export function serverModel({ url }: ModelServer, model: object = {}, settings: object = {}): Record<string, object> {
  return {
    "models.json": { providers: { served: { baseUrl: `${url}/v1`, api: "openai-completions", models: [{ id: "m", ...model }] } } },
    "settings.json": settings,
  };
}

/** Whether a request asks for a summary, which is the one without tools. */
export function asksForSummary({ body }: Served): boolean {
  return body.tools === undefined;
}

/** What a strict provider would refuse in the messages of a request: calls and results that do not pair. */
export function pairingFault({ body }: Served): string | undefined {
  const open = new Set<string>();
  const seen = new Set<string>();
  for (const { role, tool_call_id: result, tool_calls: calls = [] } of body.messages) {
    if (role === "tool") {
      if (!open.delete(result)) return `a result without its call: ${result}`;
      continue;
    }
    if (open.size > 0) return `calls without results: ${[...open].join(", ")}`;
    for (const { id } of calls) {
      if (seen.has(id)) return `two calls of one id: ${id}`;
      seen.add(id);
      open.add(id);
    }
  }
  return open.size > 0 ? `calls without results: ${[...open].join(", ")}` : undefined;
}
