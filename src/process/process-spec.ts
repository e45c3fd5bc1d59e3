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

/** What is wrong with a field; `field` is its path in what was given. */
export interface FieldFault {
  field: readonly string[];
  why: string;
}

/** The first field that cannot be. Program, folder and environment are judged where children are started. */
export function faultInSpec({ label, tty, terminalSize, outputBytes, timeoutMs }: ProcessSpec): FieldFault | undefined {
  if (label !== undefined && !isBetween(Buffer.byteLength(label), 1, MAX_LABEL_BYTES)) return { field: ["label"], why: `must have 1 to ${MAX_LABEL_BYTES} bytes` };
  if (terminalSize && !tty) return { field: ["terminalSize"], why: "needs tty" };
  const sizeFault = terminalSize && faultInSize(terminalSize);
  if (sizeFault) return { field: ["terminalSize", ...sizeFault.field], why: sizeFault.why };
  if (outputBytes !== undefined && !isBetween(outputBytes, 1, MAX_OUTPUT_BYTES)) return { field: ["outputBytes"], why: `must be from 1 to ${MAX_OUTPUT_BYTES}` };
  if (timeoutMs !== undefined && !(timeoutMs > 0)) return { field: ["timeoutMs"], why: "must be greater than 0" };
  return undefined;
}

/** The first side that no terminal has. */
export function faultInSize(size: TerminalSize): FieldFault | undefined {
  const side = (["cols", "rows"] as const).find((name) => !isBetween(size[name], 1, MAX_SIDE));
  return side && { field: [side], why: `must be from 1 to ${MAX_SIDE}` };
}

/** Throws a Refusal when there is a fault. */
export function refuse(fault: FieldFault | undefined): void {
  if (fault) throw new Refusal("invalid", `${fault.field.join(".")} ${fault.why}`);
}

function isBetween(value: number, from: number, to: number): boolean {
  return Number.isInteger(value) && value >= from && value <= to;
}
