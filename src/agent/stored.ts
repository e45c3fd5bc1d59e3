import { Refusal } from "../base/refusal.ts";

/** Writes to the session on behalf of a request: what the system refuses becomes its refusal; a bug stays one. */
export function stored<T>(what: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    if (!isOfSystem(error)) throw error;
    throw new Refusal("unavailable", `${what}: ${error.message}`);
  }
}

/** Whether the system refused something (a full disk, a read-only folder); everything else that is thrown is a bug. */
export function isOfSystem(error: unknown): error is Error & { code: string } {
  return error instanceof Error && !(error instanceof Refusal) && typeof (error as { code?: unknown }).code === "string";
}
