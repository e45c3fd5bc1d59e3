import { adapter } from "./builder.ts";
import { endpoint, lowerCased, postForEvents } from "./http.ts";
import type { Adapter, ModelSpec, StreamOptions } from "./model.ts";
import { OpenAIAnswer } from "./openai-answer.ts";
import { openaiBody } from "./openai-body.ts";
import { compatOf, type OpenAICompat } from "./openai-compat.ts";

/** Chat Completions, of OpenAI and of every compatible server. */
export const openaiCompletions: Adapter = adapter(async (builder) => {
  const { spec, request, options } = builder;
  const compat = compatOf(spec);
  const answer = new OpenAIAnswer(builder, compat);
  await postForEvents(
    {
      url: endpoint(spec.model.baseUrl, "/chat/completions"),
      headers: headersOf(spec, options, compat, request.sessionId),
      body: openaiBody(spec, request, compat),
    },
    options,
    (data) => answer.take(data),
  );
  answer.end();
});

function headersOf(spec: ModelSpec, { apiKey }: StreamOptions, compat: OpenAICompat, sessionId: string | undefined): Record<string, string> {
  return {
    ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}),
    ...(sessionId && compat.sendSessionAffinityHeaders ? affinity(sessionId, compat.sessionAffinityFormat) : {}),
    ...lowerCased(spec.headers),
  };
}

/** Requests of one session may find the cache of the one before. */
function affinity(sessionId: string, format: string): Record<string, string> {
  if (format === "openrouter") return { "x-session-id": sessionId };
  return { "x-client-request-id": sessionId, "x-session-affinity": sessionId, ...(format === "openai" ? { session_id: sessionId } : {}) };
}
