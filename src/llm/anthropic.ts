import { AnthropicAnswer } from "./anthropic-answer.ts";
import { anthropicBody } from "./anthropic-body.ts";
import { anthropicCompatOf, type AnthropicCompat } from "./anthropic-compat.ts";
import { adapter } from "./builder.ts";
import { endpoint, lowerCased, postForEvents } from "./http.ts";
import type { Adapter, ModelSpec } from "./model.ts";

/** Anthropic's Messages api, and every server that speaks it. */
export const anthropicMessages: Adapter = adapter(async (builder) => {
  const { spec, request, options } = builder;
  const compat = anthropicCompatOf(spec);
  const { body, betas } = anthropicBody(spec, request, compat);
  const { baseUrl } = spec.model;
  const answer = new AnthropicAnswer(builder);
  await postForEvents(
    {
      url: endpoint(baseUrl, baseUrl.endsWith("/v1") ? "/messages" : "/v1/messages"),
      headers: {
        "anthropic-version": "2023-06-01",
        ...(betas.length ? { "anthropic-beta": betas.join(",") } : {}),
        ...auth(spec, options.apiKey),
        ...affinity(request.sessionId, compat),
        ...lowerCased(spec.headers),
      },
      body,
    },
    options,
    (data) => answer.take(data),
  );
  answer.end();
});

function auth(spec: ModelSpec, apiKey: string | undefined): Record<string, string> {
  if (!apiKey) return {};
  return spec.authHeader ? { authorization: `Bearer ${apiKey}` } : { "x-api-key": apiKey };
}

function affinity(sessionId: string | undefined, compat: AnthropicCompat): Record<string, string> {
  if (!sessionId || !compat.sendSessionAffinityHeaders) return {};
  return { [compat.sessionAffinityFormat === "openrouter" ? "x-session-id" : "x-session-affinity"]: sessionId };
}
