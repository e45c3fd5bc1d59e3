import { Refusal } from "../base/refusal.ts";
import type { TerminalSize } from "./pty.ts";

/** What a supervised process is to be. */
export interface ProcessSpec {
  argv: readonly string[];
  /** Absolute. */
  cwd: string;
  /** Over rpi's own environment; null removes a name. */
  env?: Readonly<Record<string, string | null>> | undefined;
  /** On a terminal instead of pipes. */
  tty?: boolean | undefined;
  /** With `tty` only; 80×24 when left out. */
  terminalSize?: TerminalSize | undefined;
  /** 1 to 64 bytes. */
  label?: string | undefined;
  timeoutMs?: number | undefined;
  /** Of output that are kept, at most and by default MAX_OUTPUT_BYTES. */
  outputBytes?: number | undefined;
}

export const MAX_OUTPUT_BYTES = 1024 * 1024;
const MAX_LABEL_BYTES = 64;
const MAX_SIDE = 65_535;

/** Throws a Refusal for what cannot be; program and folder are checked where children are started. */
export function checkSpec({ label, tty, terminalSize, outputBytes, timeoutMs }: ProcessSpec): void {
  if (label !== undefined && !isBetween(Buffer.byteLength(label), 1, MAX_LABEL_BYTES)) throw invalid("label must have 1 to 64 bytes");
  if (terminalSize && !tty) throw invalid("terminalSize needs tty");
  if (terminalSize) checkSize(terminalSize);
  if (outputBytes !== undefined && !isBetween(outputBytes, 1, MAX_OUTPUT_BYTES)) throw invalid(`outputBytes must be from 1 to ${MAX_OUTPUT_BYTES}`);
  if (timeoutMs !== undefined && !(timeoutMs > 0)) throw invalid("timeoutMs must be greater than 0");
}

/** Throws a Refusal for a size that no terminal has. */
export function checkSize({ cols, rows }: TerminalSize): void {
  if (!isBetween(cols, 1, MAX_SIDE) || !isBetween(rows, 1, MAX_SIDE)) throw invalid("cols and rows must be from 1 to 65535");
}

function isBetween(value: number, from: number, to: number): boolean {
  return Number.isInteger(value) && value >= from && value <= to;
}

function invalid(why: string): Refusal {
  return new Refusal("invalid", why);
}
