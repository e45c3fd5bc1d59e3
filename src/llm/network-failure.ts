import { wordsOf } from "../base/text.ts";
import { RequestFailed, type Failure } from "./failure.ts";
import { hasProxy } from "./proxy.ts";

const UNTRUSTED = new Set([
  "SELF_SIGNED_CERT_IN_CHAIN", "DEPTH_ZERO_SELF_SIGNED_CERT", "UNABLE_TO_GET_ISSUER_CERT", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "CERT_UNTRUSTED", "CERT_SIGNATURE_FAILURE", "ERR_TLS_CERT_UNTRUSTED",
]);

/** What an error of fetch, or of reading its body, means for people. A RequestFailed is passed on as it is. */
export function networkFailure(error: unknown, url: string, hasBegun: boolean): RequestFailed {
  if (error instanceof RequestFailed) return error;
  const code = typeof (error as { code?: unknown } | null)?.code === "string" ? (error as { code: string }).code : undefined;
  return new RequestFailed({ ...told(code, error, url, hasBegun), ...(code ? { code } : {}) });
}

function told(code: string | undefined, error: unknown, url: string, hasBegun: boolean): Failure {
  const words = wordsOf(error);
  const { origin, hostname } = new URL(url);
  if (code && UNTRUSTED.has(code)) {
    return {
      kind: "bad_request",
      message: `The certificate of ${origin} is not trusted (${code}). If your network or server has a CA of its own, name its file in NODE_EXTRA_CA_CERTS, or run with --use-system-ca.`,
    };
  }
  if (code && /CERT|TLS|SSL/.test(code)) return { kind: "bad_request", message: `The certificate or TLS of ${origin} is wrong: ${words}` };
  switch (code) {
    case "ECONNREFUSED": case "ConnectionRefused":
      return { kind: "network", message: `Connection refused: is the server running at ${origin}${hasProxy() ? ", or the proxy that the environment names" : ""}?` };
    case "ENOTFOUND": case "EAI_AGAIN":
      return { kind: "network", message: `The host ${hostname} was not found. Check the address, the network and the proxy.` };
    case "ECONNRESET": case "ConnectionClosed":
      return { kind: "network", message: hasBegun ? `The connection to ${origin} was lost in the middle of the answer.` : `${origin} closed the connection without an answer.` };
    case "ENETUNREACH": case "EHOSTUNREACH":
      return { kind: "network", message: `${origin} cannot be reached from here. Check the network and the proxy.` };
    default:
      return { kind: "network", message: `The connection to ${origin} failed: ${words}` };
  }
}
