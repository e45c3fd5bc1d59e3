import { z } from "zod";
import type { Children } from "../process/children.ts";
import { Refusal } from "../base/refusal.ts";
import { sizeWords, tail } from "../base/text.ts";
import { LONGEST_TIMER_MS } from "../base/wait.ts";
import { MAX_BYTES, MAX_LINES } from "../process/output.ts";
import { runShell, type ShellResult } from "../process/shell.ts";
import { signalOf } from "../process/signals.ts";
import prose from "./bash.md" with { type: "text" };
import type { Truncation } from "./limits.ts";
import { tidy } from "./tidy.ts";
import { type Tool, ToolFailure, type ToolResult } from "./tool.ts";

/** What a timer can wait. */
const MAX_TIMEOUT_S = Math.floor(LONGEST_TIMER_MS / 1000);

const parameters = z.object({
  command: z.string().min(1).describe("Command line for the shell"),
  timeout: z.number().positive().max(MAX_TIMEOUT_S).optional().describe("Seconds after which the command is stopped; without it there is no limit"),
});

type Args = z.infer<typeof parameters>;

/** Of the end of the output that progress shows; the whole comes once, with the result. */
const PROGRESS_CHARS = 2_000;

/** Runs a command in a shell. */
export function bash(deps: { children: Children; shellPath?: string | undefined }): Tool<Args> {
  return {
    name: "bash",
    description: prose.trim(),
    snippet: "Run a command in a shell",
    parameters: () => parameters,
    prepare: (args) => tidy(args, parameters),
    async run({ command, timeout }, { cwd, signal, update, ready }) {
      let latest = "";
      try {
        const result = await runShell(deps.children, {
          command,
          cwd,
          shellPath: deps.shellPath,
          signal,
          timeoutMs: timeout === undefined ? undefined : Math.max(1, Math.round(timeout * 1000)),
          onText(delta) {
            latest = tail(latest + delta, PROGRESS_CHARS);
            update({ content: [{ type: "text", text: latest }] });
          },
          ready,
        });
        return toolResult(result, timeout);
      } catch (error) {
        throw error instanceof Refusal ? new ToolFailure(`The command could not be started: ${error.message}`) : error;
      }
    },
  };
}

function toolResult(result: ShellResult, timeout: number | undefined): ToolResult {
  const notes = [rangeNote(result), backgroundNote(result), endNote(result, timeout)].filter((note) => note !== undefined);
  const output = result.output.replace(/\n+$/, "");
  const failed = result.exitCode !== 0;
  const text = output === "" && notes.length === 0 ? "(no output)" : [output, ...notes.map((note) => `[${note}]`)].filter((part) => part !== "").join("\n\n");
  const details = {
    ...(result.exitCode !== null && { exitCode: result.exitCode }),
    ...(result.truncated && { truncation: truncationOf(result) }),
    ...(result.fullOutputPath !== undefined && { fullOutputPath: result.fullOutputPath }),
  };
  return { content: [{ type: "text", text }], ...(Object.keys(details).length > 0 && { details }), ...(failed && { isError: true }) };
}

function rangeNote(result: ShellResult): string | undefined {
  if (!result.truncated) return undefined;
  const last = result.totalLines;
  const range =
    result.isLineCut
      ? `the last ${sizeWords(Buffer.byteLength(result.output))} of line ${last}`
      : `lines ${result.shownFromLine}-${last} of ${last} (the last ${result.shownLines >= MAX_LINES ? `${MAX_LINES} lines` : sizeWords(MAX_BYTES)})`;
  const whole = result.fullOutputPath === undefined ? `The rest is lost: ${result.fullOutputFailure ?? "it could not be kept"}.` : `Full output, ${sizeWords(result.totalBytes)}: ${result.fullOutputPath}`;
  return `Showing ${range}. ${whole}`;
}

function truncationOf(result: ShellResult): Truncation {
  return {
    truncated: true,
    truncatedBy: result.shownLines >= MAX_LINES ? "lines" : "bytes",
    firstLine: result.shownFromLine,
    outputLines: result.shownLines,
    outputBytes: Buffer.byteLength(result.output),
    totalLines: result.totalLines,
    totalBytes: result.totalBytes,
  };
}

function backgroundNote(result: ShellResult): string | undefined {
  if (!result.heldByBackground) return undefined;
  return "A process that the command left in the background still runs; what it prints from now on is not shown. Send its output to a file if you need it.";
}

function endNote(result: ShellResult, timeout: number | undefined): string | undefined {
  if (result.cancelled) return "Command aborted";
  if (result.timedOut) return `Command timed out: it was stopped, with all that it started, after ${timeout} s. Give a longer timeout, or run it in the background with its output in a file.`;
  if (result.exitCode === 0) return undefined;
  const signal = result.exitCode === null ? undefined : signalOf(result.exitCode);
  return `Command exited with code ${result.exitCode}${signal === undefined ? "" : ` (ended by ${signal})`}`;
}
