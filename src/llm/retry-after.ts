/** A wait in the words of a body: Gemini's `"retryDelay": "34s"`, `retry_after_seconds: 7`, "try again in 1m3.5s". */
const FIELD = /"?retry[_-]?(?:after|delay|in)(_?(?:ms|milliseconds|seconds|secs?))?"?\s*[:=]\s*"?([\d.]+)\s*(ms|s)?/i;
const SENTENCE = /(?:try|retry)[^.]{0,20}? (?:in|after) (?:(\d+)h ?)?(?:(\d+)m(?!s)(?:in(?:utes?)?)? ?)?(?:([\d.]+) ?(ms|s(?:ec(?:onds?)?)?)\b)?/i;

/** How long a failed response asks to wait, of its headers or else its body; undefined when it does not say. */
export function retryAfterMs(headers: Headers | undefined, body: string, now = Date.now()): number | undefined {
  return fromHeaders(headers, now) ?? fromBody(body);
}

function fromHeaders(headers: Headers | undefined, now: number): number | undefined {
  const ms = Number(headers?.get("retry-after-ms") ?? NaN);
  if (ms >= 0) return Math.ceil(ms);
  const value = headers?.get("retry-after")?.trim();
  if (!value) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, Math.ceil(seconds * 1000));
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function fromBody(body: string): number | undefined {
  const field = FIELD.exec(body);
  if (field) {
    const isMs = /m/i.test(field[1] ?? "") || field[3]?.toLowerCase() === "ms";
    return Math.ceil(Number(field[2]) * (isMs ? 1 : 1000)) || 0;
  }
  const sentence = SENTENCE.exec(body);
  if (!sentence || !(sentence[1] || sentence[2] || sentence[3])) return undefined;
  const [, hours = "0", minutes = "0", last = "0", unit = "s"] = sentence;
  const ms = Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Number(last) * (unit === "ms" ? 1 : 1000);
  return Number.isFinite(ms) ? Math.ceil(ms) : undefined;
}
