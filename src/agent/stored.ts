import { Refusal } from "../base/refusal.ts";

/** Writes to the session on behalf of a request: what the system refuses becomes its refusal; a bug stays one. */
export function stored<T>(what: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    throw asRefusal(what, error);
  }
}

/** The refusal that stands for what the system refused; any other error as it is. */
export function asRefusal(what: string, error: unknown): unknown {
  return isOfSystem(error) ? new Refusal("unavailable", `${what}: ${error.message}`) : error;
}

/** Whether the system refused something (a full disk, a read-only folder); everything else that is thrown is a bug. */
export function isOfSystem(error: unknown): error is Error & { code: string } {
  return error instanceof Error && !(error instanceof Refusal) && typeof (error as { code?: unknown }).code === "string";
}
