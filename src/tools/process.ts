import { isAbsolute, resolve } from "node:path";
import { z } from "zod";
import { Refusal } from "../base/refusal.ts";
import { shorten } from "../base/text.ts";
import { KEYS } from "../process/keys.ts";
import { shellFor } from "../process/shell.ts";
import type { ProcessInfo } from "../process/supervised.ts";
import type { Supervisor } from "../process/supervisor.ts";
import { type LineMatcher, lineMatcher } from "./line-matcher.ts";
import prose from "./process.md" with { type: "text" };
import { ProcessOutput } from "./process-output.ts";
import { tidy } from "./tidy.ts";
import { type Tool, type ToolContext, ToolFailure, type ToolResult } from "./tool.ts";

const parameters = z.object({
  action: z.enum(["start", "list", "logs", "write", "keys", "stop"]),
  command: z.string().min(1).optional().describe("start: command line for the shell"),
  cwd: z.string().optional().describe("start: folder to run in; default the working directory"),
  label: z.string().optional().describe("start: a short name, to be used in place of the id"),
  tty: z.boolean().optional().describe("start: run on a terminal, for programs that need one"),
  id: z.string().optional().describe("logs, write, keys, stop: id or label of the process"),
  cursor: z.number().optional().describe("logs: show output from this byte on, as an earlier result named it; default the last output"),
  until: z.string().optional().describe("start, logs, write, keys: wait until a line of new output matches this regular expression"),
  wait: z.number().optional().describe("start, logs, write, keys: seconds to wait for output at most; default 1, with until 30"),
  text: z.string().optional().describe("write: text for its input; end a line with \\n"),
  closeInput: z.boolean().optional().describe("write: close its input afterwards"),
  keys: z.array(z.enum(KEYS)).optional().describe("keys: keys to press, for a process with tty"),
});

type Args = z.infer<typeof parameters>;

/** The part of the supervisor that the tool uses. */
export type Processes = Pick<Supervisor, "spawn" | "list" | "describe" | "logs" | "write" | "keys" | "stop" | "untilOutput">;

const MAX_WAIT_S = 600;

/** Programs that go on running between the calls. */
export function process(processes: Processes, deps: { shellPath?: string | undefined }): Tool<Args> {
  return {
    name: "process",
    description: prose.trim(),
    snippet: "Run servers and other long-lived or interactive programs in the background",
    parameters: () => parameters,
    prepare: (args) => tidy(args, parameters),
    async run(args, context) {
      try {
        return await ACTIONS[args.action](processes, args, context, deps.shellPath);
      } catch (error) {
        throw error instanceof Refusal ? new ToolFailure(`${error.message}.`) : error;
      }
    },
  };
}

type Action = (processes: Processes, args: Args, context: ToolContext, shellPath: string | undefined) => Promise<ToolResult>;

const ACTIONS: Record<Args["action"], Action> = {
  async start(processes, args, context, shellPath) {
    if (args.command === undefined) throw missing("start", "command");
    const matcher = matcherOf(args);
    const { label, tty, cwd } = args;
    const info = processes.spawn({
      argv: [shellFor(shellPath), "-c", args.command],
      cwd: cwd === undefined || isAbsolute(cwd) ? (cwd ?? context.cwd) : resolve(context.cwd, cwd),
      ...(label && { label }),
      ...(tty && { tty }),
    });
    return watch(processes, info.id, 0, args, matcher, context);
  },

  async list(processes) {
    const all = processes.list();
    return { content: [{ type: "text", text: all.length === 0 ? "No process was started." : all.map(headline).join("\n") }], details: { processes: all } };
  },

  async logs(processes, args, context) {
    const info = find(processes, args);
    const matcher = matcherOf(args);
    const hasMore = info.outputCursor > (args.cursor ?? 0);
    // What is there already is shown at once, unless something is waited for.
    if (args.wait === undefined && (hasMore || !isRunning(info)) && !matcher) return show(processes, new ProcessOutput(processes, info.id, args.cursor ?? 0), undefined);
    return watch(processes, info.id, args.cursor ?? (args.wait === undefined || matcher ? 0 : info.outputCursor), args, matcher, context);
  },

  async write(processes, args, context) {
    const info = find(processes, args);
    if (args.text === undefined && !args.closeInput) throw missing("write", "text");
    const matcher = matcherOf(args);
    processes.write(info.id, Buffer.from(args.text ?? ""), { closeStdin: args.closeInput });
    return watch(processes, info.id, info.outputCursor, args, matcher, context);
  },

  async keys(processes, args, context) {
    const info = find(processes, args);
    if (!args.keys?.length) throw missing("keys", "keys");
    const matcher = matcherOf(args);
    processes.keys(info.id, args.keys);
    return watch(processes, info.id, info.outputCursor, args, matcher, context);
  },

  async stop(processes, args) {
    const { id, outputCursor } = find(processes, args);
    await processes.stop(id);
    return show(processes, new ProcessOutput(processes, id, outputCursor), undefined);
  },
};

/** Waits for output as the arguments say, then shows what came. */
async function watch(processes: Processes, id: string, cursor: number, { until, wait }: Args, matcher: LineMatcher | undefined, { signal }: ToolContext): Promise<ToolResult> {
  const output = new ProcessOutput(processes, id, cursor);
  const waitS = Math.min(MAX_WAIT_S, Math.max(0, wait ?? (matcher ? 30 : 1)));
  const hasCome = await output.wait({ matcher, waitMs: waitS * 1000, signal });
  return show(processes, output, matcher && !hasCome ? `No line that matches ${until} came${isRunning(processes.describe(id)) ? ` in ${waitS} s` : ""}.` : undefined);
}

function show(processes: Processes, output: ProcessOutput, note: string | undefined): ToolResult {
  output.read();
  const info = processes.describe(output.id);
  const { text: shown } = output;
  const notes = [
    output.lostBytes > 0 && `${output.lostBytes} bytes of older output are gone.`,
    output.isCut && "Only the end of the output is shown.",
    note,
    isRunning(info) && `Go on with cursor=${output.cursor}.`,
  ].filter((one) => typeof one === "string");
  const text = [headline(info), shown.replace(/\n+$/, "") || "(no output)", notes.length > 0 && `[${notes.join(" ")}]`].filter((part) => part !== false).join("\n\n");
  return { content: [{ type: "text", text }], details: { process: info, cursor: output.cursor } };
}

function headline(info: ProcessInfo): string {
  const name = `${info.id}${info.label === undefined ? "" : ` "${info.label}"`}`;
  const command = info.argv.at(-1)!;
  const end = info.signal ?? (info.exitCode === undefined ? "" : `exit code ${info.exitCode}`);
  const state = isRunning(info) ? `${info.state}, pid ${info.pid}` : `${info.state.replace("_", " ")}${end === "" ? "" : `, ${end}`}`;
  return `Process ${name}: ${state}, ${shorten(command, 120)}`;
}

/** By id, by the beginning of an id, or by label; the newest of several with the same label. */
function find(processes: Processes, { id, action }: Args): ProcessInfo {
  if (!id) throw missing(action, "id");
  const all = processes.list();
  const found = all.find((info) => info.id === id) ?? all.findLast(({ label }) => label === id) ?? (id.length >= 8 ? all.find((info) => info.id.startsWith(id)) : undefined);
  if (found) return found;
  throw new ToolFailure(`There is no process ${id}. ${all.length === 0 ? "None was started." : `These are known:\n${all.map(headline).join("\n")}`}`);
}

function isRunning({ state }: ProcessInfo): boolean {
  return state === "running" || state === "stopping";
}

function matcherOf({ until }: Args): LineMatcher | undefined {
  return until ? lineMatcher(until, { literal: false, ignoreCase: false }) : undefined;
}

function missing(action: string, field: string): ToolFailure {
  return new ToolFailure(`The action ${action} needs ${field}.`);
}
