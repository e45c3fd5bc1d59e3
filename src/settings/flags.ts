import { parseArgs } from "node:util";
import { THINKING_LEVELS } from "../llm/model.ts";

/**
 * Every flag, declared once: parsing and `--help` come from here. The names and short forms are those of
 * pi 1.6.0 and those that protocol.md, section 1, adds. `ignored` ones are for a terminal UI: accepted, no effect.
 */
export interface Flag {
  short?: string;
  /** The name of its value in the help; a flag without one is a switch. */
  value?: string;
  many?: boolean;
  choices?: readonly string[];
  /** Why the value is bad, or undefined. */
  check?: (value: string) => string | undefined;
  ignored?: boolean;
  help: string;
}

export const flagGroups = {
  Mode: {
    mode: { value: "mode", choices: ["rpc", "json", "text"], help: "rpc: JSON lines on stdin and stdout until stdin ends" },
    print: { short: "p", help: "run the prompt, print the answer, exit" },
    help: { short: "h", help: "show this help" },
    version: { short: "v", help: "print the version" },
  },
  Model: {
    model: { short: "m", value: "[provider/]id[:level]", help: "the model to use" },
    provider: { value: "name", help: "the provider in which --model is looked up" },
    models: { value: "patterns", help: "comma-separated models that cycle_model goes through" },
    "api-key": { value: "key", help: "a key for the model's provider, for this run only" },
    thinking: { value: "level", choices: THINKING_LEVELS, help: "how much the model thinks" },
    "faux-script": { value: "file", help: "what the built-in model faux/faux-1 plays" },
    "list-models": { ignored: true, help: "see `rpi models`" },
  },
  Session: {
    continue: { short: "c", help: "go on with the newest session of this folder" },
    resume: { short: "r", value: "id|path", help: "open a session" },
    session: { value: "id|path", help: "open a session" },
    "session-id": { value: "id", help: "open the session with this id, or begin one" },
    fork: { value: "id|path", help: "begin a new session with the talk of another" },
    "no-session": { help: "keep the session in memory" },
    "session-dir": { value: "folder", help: "where session files are" },
    name: { short: "n", value: "name", help: "the session's display name" },
  },
  Work: {
    cwd: { short: "C", value: "folder", help: "work in this folder" },
    tools: { short: "t", value: "names", help: "the tools the model has (default read,bash,edit,write)" },
    "exclude-tools": { short: "xt", value: "names", help: "tools the model does not have" },
    "no-tools": { short: "nt", help: "no tools" },
    "no-builtin-tools": { short: "nbt", help: "no built-in tools" },
    "system-prompt": { value: "text|file", help: "instead of rpi's own system prompt" },
    "append-system-prompt": { value: "text|file", many: true, help: "after the system prompt" },
    "no-context-files": { short: "nc", help: "do not read AGENTS.md or CLAUDE.md" },
  },
  Resources: {
    approve: { short: "a", help: "use the project's .pi folder, for this run only" },
    "no-approve": { short: "na", help: "do not use the project's .pi folder" },
    extension: { short: "e", value: "file", many: true, help: "load an extension" },
    "no-extensions": { short: "ne", help: "load no extensions but those named" },
    skill: { value: "file", many: true, help: "load a skill" },
    "no-skills": { short: "ns", help: "load no skills but those named" },
    "prompt-template": { value: "file", many: true, help: "load a prompt template" },
    "no-prompt-templates": { short: "np", help: "load no prompt templates but those named" },
  },
  Process: {
    "on-eof": { value: "drain|abort", choices: ["drain", "abort"], help: "when stdin ends: let the run end (default), or abort it" },
    "drain-timeout": { value: "duration", check: (text) => (durationMs(text) === undefined ? 'must be a duration such as "30s", "500ms" or "2m"' : undefined), help: "how long a run may go on after stdin has ended (default: for ever)" },
    "max-line-bytes": { value: "bytes", check: (text) => (/^[1-9]\d{0,14}$/.test(text) ? undefined : "must be a number of bytes"), help: "the longest line that is read (default 67108864)" },
    offline: { help: "no network but the model's" },
    verbose: { help: "more diagnostics on stderr" },
  },
  "Accepted, without effect here": {
    theme: { value: "file", many: true, ignored: true, help: "" },
    "use-theme": { value: "name", ignored: true, help: "" },
    "no-themes": { ignored: true, help: "" },
    "no-mcp": { ignored: true, help: "" },
    "tui-mode": { value: "mode", choices: ["regular", "fullscreen"], ignored: true, help: "" },
    export: { value: "file", ignored: true, help: "" },
  },
} as const satisfies Record<string, Record<string, Flag>>;

const flags: Record<string, Flag> = Object.assign({}, ...Object.values(flagGroups));
const byShort = new Map(Object.entries(flags).flatMap(([name, flag]) => (flag.short ? [[flag.short, name] as const] : [])));

/** The flags that were given: a switch is true, a value its text, a repeatable one a list. */
export interface Flags {
  mode?: "rpc" | "json" | "text";
  print?: true; help?: true; version?: true;
  model?: string; provider?: string; models?: string; "api-key"?: string; thinking?: string; "faux-script"?: string;
  continue?: true; resume?: string; session?: string; "session-id"?: string; fork?: string; "no-session"?: true; "session-dir"?: string; name?: string;
  cwd?: string; tools?: string; "exclude-tools"?: string; "no-tools"?: true; "no-builtin-tools"?: true;
  "system-prompt"?: string; "append-system-prompt"?: string[]; "no-context-files"?: true;
  approve?: true; "no-approve"?: true; extension?: string[]; "no-extensions"?: true; skill?: string[]; "no-skills"?: true; "prompt-template"?: string[]; "no-prompt-templates"?: true;
  "on-eof"?: "drain" | "abort"; "drain-timeout"?: string; "max-line-bytes"?: string; offline?: true; verbose?: true;
}

export interface CommandLine {
  flags: Flags;
  /** Words that are no flags, in order. */
  words: string[];
  /** Flags that nobody here knows, as they were written. */
  unknown: string[];
}

/** A mistake in the command line: exit 2, told on stderr. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Milliseconds of "500ms", "30s", "2m", "1h"; digits alone are seconds. Undefined when it is none of these. */
export function durationMs(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text);
  if (!match) return undefined;
  const unit = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[match[2] ?? "s"]!;
  return Number(match[1]) * unit;
}

/** Throws UsageError, whose text names the flag and what it needs. */
export function parseCommandLine(argv: string[]): CommandLine {
  const { tokens } = parseArgs({
    args: argv.map(longForm),
    options: Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, { type: flag.value ? "string" as const : "boolean" as const, multiple: true }])),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const given: Record<string, unknown> = {};
  const words: string[] = [];
  const unknown: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    const flag = Object.hasOwn(flags, token.name) ? flags[token.name] : undefined;
    if (!flag) {
      unknown.push(token.rawName);
      continue;
    }
    const value = flag.value ? valueOf(token, flag) : switchOf(token);
    if (flag.many) given[token.name] = [...((given[token.name] as string[] | undefined) ?? []), value];
    else given[token.name] = value;
  }
  checkTogether(given as Flags);
  return { flags: given as Flags, words, unknown };
}

/** Flags of which each asks for a session of its own; pairs that go together are left out. */
const CONTRADICTIONS: readonly (readonly [keyof Flags, keyof Flags])[] = [
  ["session", "resume"], ["session", "continue"], ["resume", "continue"],
  ["fork", "session"], ["fork", "resume"], ["fork", "continue"], ["fork", "no-session"],
  ["session-id", "session"], ["session-id", "resume"], ["session-id", "continue"],
  ["no-session", "session"], ["no-session", "resume"], ["no-session", "continue"],
  ["approve", "no-approve"],
];

function checkTogether(flags: Flags): void {
  for (const [one, other] of CONTRADICTIONS) {
    if (flags[one] !== undefined && flags[other] !== undefined) throw new UsageError(`--${one} and --${other} contradict each other; give one of them`);
  }
}

/** pi's short forms have up to three letters, which no option parser knows. */
function longForm(word: string): string {
  const match = /^-([a-zA-Z]{1,3})(?:=(.*))?$/s.exec(word);
  const name = match && byShort.get(match[1]!);
  if (!name) return word;
  return match[2] === undefined ? `--${name}` : `--${name}=${match[2]}`;
}

type OptionToken = { name: string; value?: string | undefined; inlineValue?: boolean | undefined };

function valueOf(token: OptionToken, flag: Flag): string {
  const { name, value } = token;
  if (value === undefined || (!token.inlineValue && /^--?[a-zA-Z]/.test(value))) {
    if (name === "resume") throw new UsageError("--resume needs a session id or path here; `rpi sessions` lists them");
    throw new UsageError(`--${name} needs a value <${flag.value}>${value === undefined ? "" : `; if "${value}" is it, write --${name}=${value}`}`);
  }
  if (flag.choices && !flag.choices.includes(value)) throw new UsageError(`--${name} must be one of ${flag.choices.join(", ")}, not "${value}"`);
  const fault = flag.check?.(value);
  if (fault) throw new UsageError(`--${name} ${fault}, not "${value}"`);
  return value;
}

function switchOf(token: OptionToken): true {
  if (token.inlineValue) throw new UsageError(`--${token.name} takes no value`);
  return true;
}
