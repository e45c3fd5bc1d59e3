import { Refusal } from "../../src/base/refusal.ts";

/** How something was refused, in code and words; fails when it was not. */
export function refusalOf(act: () => unknown): { code: string; message: string } {
  try {
    act();
  } catch (error) {
    if (error instanceof Refusal) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error("it was not refused");
}
