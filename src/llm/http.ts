import { untilAborted } from "../base/wait.ts";
import { wellFormed } from "../base/json.ts";
import { failureOfError, failureOfResponse, pageWords } from "./http-failure.ts";
import { RequestFailed } from "./failure.ts";
import type { StreamOptions } from "./model.ts";
import { networkFailure } from "./network-failure.ts";
import { isReachable } from "./reachable.ts";
import { readEvents, type OnEvent, type Rest } from "./sse.ts";
import { Watch } from "./watch.ts";

/** Of an error's body, more is not read, nor waited for. */
const MAX_ERROR_BYTES = 64 * 1024;
const ERROR_BODY_MS = 5000;
/** A second try to connect, when the first has had its time, is not given all of it again. */
const PROBE_MS = 3000;
const LET_GO_MS = 1000;

export interface EventRequest {
  url: string;
  headers: Record<string, string>;
  body: unknown;
}

/**
 * Posts JSON and gives each event of the answer to `onEvent`, in order, until the body ends. Proxies and CA files
 * are Bun's own variables (HTTP_PROXY, HTTPS_PROXY, NO_PROXY, NODE_EXTRA_CA_CERTS, SSL_CERT_FILE). Throws
 * RequestFailed, or the signal's reason at once when it aborts; either way the connection is closed. Behind the last
 * content nothing fails any more: how the connection ends is no matter then.
 */
export async function postForEvents(request: EventRequest, options: StreamOptions, onEvent: OnEvent): Promise<void> {
  const { signal, timeouts } = options;
  signal.throwIfAborted();
  if (!URL.canParse(request.url)) {
    throw new RequestFailed({ kind: "bad_request", message: `baseUrl is not a URL: ${request.url}` });
  }
  const controller = new AbortController();
  const abort = () => controller.abort(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  const watch = new Watch(timeouts, new URL(request.url).host, () => isReachable(request.url, Math.min(timeouts.connectMs, PROBE_MS)), (why) => controller.abort(why));
  let hasBegun = false;
  let isWhole = false;
  let rest: Rest | undefined;
  const take: OnEvent = (data, event) => {
    const told = onEvent(data, event);
    if (told) isWhole = told === "whole";
    return told;
  };
  try {
    const response = await untilAborted(send(request, controller.signal), controller.signal);
    watch.responded();
    hasBegun = true;
    if (!response.ok) {
      watch.stop();
      throw new RequestFailed(failureOfResponse(response.status, response.headers, await errorBody(response, controller, Math.min(ERROR_BODY_MS, timeouts.idleMs || ERROR_BODY_MS)), request.url));
    }
    rest = await readEvents(response, { watch, signal: controller.signal, ready: options.ready, onEvent: take, onWhole: (text) => whole(text, take) });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (isWhole && !(error instanceof RequestFailed && error.failure.kind !== "timeout")) return;
    throw networkFailure(controller.signal.aborted && !(error instanceof RequestFailed) ? controller.signal.reason : error, request.url, hasBegun);
  } finally {
    watch.stop();
    signal.removeEventListener("abort", abort);
    if (rest) void letGo(rest, controller);
    else controller.abort();
  }
}

/** Where the last chunk of the transfer comes at once, the connection can be used again; else it is closed. */
async function letGo(rest: Rest, controller: AbortController): Promise<void> {
  const timer = setTimeout(() => controller.abort(), LET_GO_MS);
  try {
    while (!(await rest.read()).done);
  } catch {
    // The answer is whole: how its connection ends is no matter.
  } finally {
    clearTimeout(timer);
  }
}

/** The address of an api's endpoint under a baseUrl, which may name the endpoint itself or carry a query. */
export function endpoint(baseUrl: string, path: string): string {
  const [base = "", query] = baseUrl.split("?", 2);
  const address = base.endsWith(path) ? base : `${base.replace(/\/+$/, "")}${path}`;
  return query === undefined ? address : `${address}?${query}`;
}

function send({ url, headers, body }: EventRequest, signal: AbortSignal): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream", "user-agent": "rpi", ...headers },
    body: wellFormed(JSON.stringify(body)),
    signal,
    // Bun would end a silent connection after five minutes; the watch decides instead.
    timeout: false,
  });
}

/** An answer that is no stream: a whole completion, an error with a good status, or a web page. */
function whole(text: string, onEvent: OnEvent): void {
  if (text.startsWith("<")) {
    throw new RequestFailed({ kind: "server", message: `The server answered with ${pageWords(text)}. Is the baseUrl right?` });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new RequestFailed({ kind: "server", message: "The server's answer is neither a stream nor JSON." });
  }
  const error = (value as { error?: unknown } | null)?.error;
  if (error) throw new RequestFailed(failureOfError(error));
  onEvent(text, undefined);
}

async function errorBody(response: Response, controller: AbortController, ms: number): Promise<string> {
  if (!response.body) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const timer = setTimeout(() => controller.abort(), ms);
  let text = "";
  try {
    while (text.length < MAX_ERROR_BYTES) {
      const { value, done } = await untilAborted(reader.read(), controller.signal);
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    // The status says enough when its body breaks off; an abort is seen by the caller.
  } finally {
    clearTimeout(timer);
  }
  return text;
}

/** Headers with names in lower case, so that a user's own replaces the adapter's. */
export function lowerCased(headers: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
