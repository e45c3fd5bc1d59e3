import fs from "node:fs";
import { Refusal } from "../base/refusal.ts";
import { type FauxScript, parseFauxScript } from "../llm/faux-script.ts";

/** Reads a script for the built-in model; a file that is missing or no script stops the start. */
export function readFauxScript(file: string): FauxScript {
  let text: string;
  try {
    text = fs.readFileSync(file, "utf8");
  } catch (error) {
    throw new Refusal("not_found", `The faux script ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
  return parseFauxScript(text);
}
