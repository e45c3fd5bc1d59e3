import { durationWords, head, shorten } from "../base/text.ts";
import type { Failure, FailureKind } from "./failure.ts";
import { namedWindow, saysOverflow, saysTraffic } from "./overflow.ts";
import { refusedBy } from "./refused.ts";
import { retryAfterMs } from "./retry-after.ts";

/** Longer words of a server are cut: they are for people. */
const MAX_WORDS = 1000;

const QUOTA = /insufficient[_ ](?:quota|funds|balance|credit)|credit balance|billing|out of (?:budget|credits)|(?:usage|spending|monthly) limit|exceeded your current quota|payment required/i;
const OVERLOADED = /overloaded|at capacity|server[_ ]busy|high demand|servers are currently busy/i;

/** What is known of a failure before it has a kind. */
interface Told {
  status?: number | undefined;
  headers?: Headers;
  /** The provider's words for the kind: `type`, `code`. */
  words: string[];
  message: string;
  /** The body as it came, for what only it says. */
  body: string;
  retryAfterMs?: number | undefined;
}

/** The failure that a response with an error status means. */
export function failureOfResponse(status: number, headers: Headers, body: string, baseUrl: string): Failure {
  const failure = classify({ status, headers, body, ...readBody(body, status) });
  const hint = hintOf(failure, body, baseUrl);
  return hint ? { ...failure, message: `${failure.message} (${hint})` } : failure;
}

/** The failure that an error in the middle of a stream, or in a body with a good status, means. */
export function failureOfError(error: unknown, status?: number, wait?: number): Failure {
  const body = typeof error === "string" ? error : (JSON.stringify(error) ?? "");
  const { words, message } = readError(error) ?? { words: [], message: body };
  const numeric = words.map(Number).find((word) => word >= 400 && word < 600);
  return classify({ status: status ?? numeric, words, message: message || "The provider sent an error without words.", body, retryAfterMs: wait });
}

function classify({ status, headers, words, message, body, retryAfterMs: known }: Told): Failure {
  const text = `${words.join(" ")} ${message}`;
  const wait = known ?? retryAfterMs(headers, body);
  const kind = kindOf(status, words, text, wait !== undefined);
  const code = words.find((word) => word !== "error" && word !== "null");
  const refused = kind === "bad_request" || kind === "server" ? refusedBy(status, text) : undefined;
  const window = kind === "overflow" ? namedWindow(body || text) : undefined;
  return {
    kind,
    ...(status === undefined ? {} : { status }),
    ...(code ? { code } : {}),
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
    ...(window === undefined ? {} : { contextWindow: window }),
    ...(refused ? { refused } : {}),
    message: status === undefined || new RegExp(`\\b${status}\\b`).test(message) ? message : `${status} ${message}`,
  };
}

function kindOf(status: number | undefined, words: string[], text: string, saysWhen: boolean): FailureKind {
  const byWord = kindOfWords(words);
  if (byWord === "overflow" || (status !== 429 && byWord !== "rate_limit" && saysOverflow(text))) return "overflow";
  // Some ask for money and name the end of the wait: that one can be waited for, whatever the words.
  if (status === 402) return saysWhen ? "rate_limit" : "quota";
  // "Billing" beside a wait of seconds is a limit per minute (Gemini's 429).
  if (QUOTA.test(text) && !(status === 429 && saysWhen && byWord !== "quota")) return "quota";
  if (byWord) return byWord;
  if (status === undefined) return OVERLOADED.test(text) ? "overloaded" : saysTraffic(text) ? "rate_limit" : "server";
  if (status === 401 || status === 403) return "auth";
  if (status === 408) return "timeout";
  if (status === 409) return "server";
  if (status === 413) return "overflow";
  if (status === 429) return "rate_limit";
  if (status === 503 || status === 529 || (status >= 500 && OVERLOADED.test(text))) return "overloaded";
  return status >= 500 ? "server" : "bad_request";
}

function kindOfWords(words: readonly string[]): FailureKind | undefined {
  for (const word of words) {
    switch (word.toLowerCase()) {
      case "overloaded_error": return "overloaded";
      case "rate_limit_error": case "rate_limit_exceeded": case "resource_exhausted": return "rate_limit";
      case "authentication_error": case "permission_error": case "invalid_api_key": return "auth";
      case "billing_error": case "insufficient_quota": return "quota";
      case "timeout_error": return "timeout";
      case "api_error": case "server_error": case "internal_server_error": return "server";
      case "request_too_large": case "context_length_exceeded": case "exceed_context_size_error": return "overflow";
      case "content_filter": case "content_policy_violation": return "refusal";
    }
  }
  return undefined;
}

/** The message and the kind's words of an error body: JSON of any dialect, a web page, or plain text. */
function readBody(body: string, status: number): { words: string[]; message: string } {
  const trimmed = body.trim();
  if (trimmed === "") return { words: [], message: `${status} without a body` };
  if (trimmed.startsWith("<")) return { words: [], message: pageWords(trimmed) };
  try {
    const read = readError(JSON.parse(trimmed));
    if (read?.message) return read;
  } catch {
    // Not JSON: the text itself is what there is to say.
  }
  return { words: [], message: shorten(trimmed, MAX_WORDS) };
}

/** `{error:{message,type,code}}`, `{error:"…"}`, `{message}`, `{detail}`, and lists of one. */
function readError(value: unknown): { words: string[]; message: string } | undefined {
  if (Array.isArray(value)) return readError(value[0]);
  if (typeof value === "string") return { words: [], message: shorten(value, MAX_WORDS) };
  if (typeof value !== "object" || value === null) return undefined;
  const object = value as Record<string, unknown>;
  if (typeof object.error === "object" && object.error !== null) return readError(object.error);
  const words = [object.type, object.code, object.status].filter((word) => typeof word === "string" || typeof word === "number").map(String).filter((word) => word !== "error");
  const message = [object.message, object.error, object.detail, object.msg].find((text) => typeof text === "string" && text !== "");
  // A router says what the provider behind it said in metadata.raw.
  const raw = (object.metadata as { raw?: unknown } | undefined)?.raw;
  const behind = typeof raw === "string" && raw !== "" ? `: ${raw}` : "";
  if (message === undefined && !behind) return { words, message: shorten(JSON.stringify(object.detail ?? object), MAX_WORDS) };
  return { words, message: shorten(`${typeof message === "string" ? message : "error"}${behind}`, MAX_WORDS) };
}

/** The title or first heading of a web page, or its first words. */
export function pageWords(page: string): string {
  const heading = /<(title|h1)[^>]*>([^<]+)</i.exec(page)?.[2];
  const text = heading ?? page.replace(/<(script|style)[\s\S]*?<\/\1>/gi, " ").replace(/<[^>]*>/g, " ");
  return `${head(text.replace(/\s+/g, " ").trim(), 200)} (a web page, not the answer of a model server)`;
}

function hintOf(failure: Failure, body: string, baseUrl: string): string | undefined {
  switch (failure.kind) {
    case "auth":
      return "check the API key of this provider";
    case "quota":
      return "check the plan and the balance of this account";
    case "bad_request":
      return failure.status === 404 && (body.trim() === "" || !/model/i.test(body)) ? `is ${baseUrl} the right baseUrl?` : undefined;
    case "rate_limit": case "overloaded":
      return failure.retryAfterMs === undefined ? undefined : `the server asks to wait ${durationWords(failure.retryAfterMs)}`;
    default:
      return undefined;
  }
}
