import { join } from "node:path";
import fs from "../base/lazy-fs.ts";
import { Refusal } from "../base/refusal.ts";
import { wordsOf } from "../base/text.ts";

/** Linux gives one argument 128 KiB, its end included; other systems more. */
const MAX_ARGUMENT_BYTES = 120 * 1024;

/** How a shell is given a command, and what must be done when it has ended. */
export interface Script {
  argv: string[];
  [Symbol.dispose](): void;
}

/** A command is an argument of its shell, or a private (0600) file when it is too long for one. Throws a Refusal when that cannot be written. */
export function scriptFor(shell: string, command: string): Script {
  if (command.length * 3 <= MAX_ARGUMENT_BYTES || Buffer.byteLength(command) <= MAX_ARGUMENT_BYTES) {
    return { argv: [shell, "-c", command], [Symbol.dispose]() {} };
  }
  const { tmpdir } = require("node:os") as typeof import("node:os");
  const file = join(tmpdir(), `rpi-command-${crypto.randomUUID()}.sh`);
  try {
    fs.writeFileSync(file, command, { mode: 0o600, flag: "wx" });
  } catch (error) {
    throw new Refusal("unavailable", `the command is too long for an argument, and ${file} cannot be written: ${wordsOf(error)}`);
  }
  return { argv: [shell, file], [Symbol.dispose]: () => fs.rmSync(file, { force: true }) };
}
