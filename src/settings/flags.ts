import { THINKING_LEVELS } from "../llm/model.ts";

/**
 * Every flag, declared once: parsing and `--help` come from here. The names and short forms are those of
 * pi 1.6.0 and those that protocol.md, section 1, adds. Those without a help have no effect here.
 */
export interface Flag {
  short?: string;
  /** The name of its value in the help; a flag without one is a switch. */
  value?: string;
  many?: boolean;
  choices?: readonly string[];
  /** Why the value is bad, or undefined. */
  check?: (value: string) => string | undefined;
  /** Empty for a flag that is accepted and changes nothing. */
  help: string;
}

export const flagGroups = {
  Mode: {
    mode: { value: "mode", choices: ["rpc", "json", "text"], help: "rpc: JSON lines on stdin and stdout until stdin ends" },
    help: { short: "h", help: "show this help" },
    version: { short: "v", help: "print the version" },
  },
  Model: {
    model: { short: "m", value: "[provider/]id[:level]", help: "the model to use" },
    provider: { value: "name", help: "the provider in which --model is looked up" },
    models: { value: "patterns", help: "comma-separated models that cycle_model goes through" },
    "api-key": { value: "key", help: "a key for the model's provider, for this run only" },
    thinking: { value: "level", choices: THINKING_LEVELS, help: "how much the model thinks" },
    "faux-script": { value: "file", help: "what --model faux/faux-1, which is built in, plays" },
  },
  Session: {
    continue: { short: "c", help: "go on with the newest session of this folder" },
    resume: { short: "r", value: "id|path", help: "open a session" },
    session: { value: "id|path", help: "open a session" },
    "session-id": { value: "id", help: "open the session with this id, or begin one" },
    fork: { value: "id|path", help: "begin a new session with the talk of another" },
    "no-session": { help: "keep the session in memory" },
    "session-dir": { value: "folder", help: "where session files are" },
    name: { short: "n", value: "name", check: (text) => (text.trim() === "" ? "must be some text" : undefined), help: "the session's display name" },
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
  Process: {
    "on-eof": { value: "drain|abort", choices: ["drain", "abort"], help: "when stdin ends: let the run end (default), or abort it" },
    "drain-timeout": { value: "duration", check: (text) => (durationMs(text) === undefined ? 'must be a duration such as "30s", "500ms" or "2m"' : undefined), help: "how long a run may go on after stdin has ended, as 30s or 2m (default: for ever)" },
    "max-line-bytes": { value: "bytes", check: (text) => (/^[1-9]\d{0,14}$/.test(text) ? undefined : "must be a number of bytes"), help: "the longest line that is read (default 67108864)" },
  },
  "Accepted, without effect": {
    print: { short: "p", help: "" },
    "list-models": { help: "" },
    approve: { short: "a", help: "" },
    "no-approve": { short: "na", help: "" },
    extension: { short: "e", value: "file", many: true, help: "" },
    "no-extensions": { short: "ne", help: "" },
    skill: { value: "file", many: true, help: "" },
    "no-skills": { short: "ns", help: "" },
    "prompt-template": { value: "file", many: true, help: "" },
    "no-prompt-templates": { short: "np", help: "" },
    offline: { help: "" },
    verbose: { help: "" },
    theme: { value: "file", many: true, help: "" },
    "use-theme": { value: "name", help: "" },
    "no-themes": { help: "" },
    "no-mcp": { help: "" },
    "tui-mode": { value: "mode", choices: ["regular", "fullscreen"], help: "" },
    export: { value: "file", help: "" },
  },
} as const satisfies Record<string, Record<string, Flag>>;

const flags: Record<string, Flag> = Object.assign({}, ...Object.values(flagGroups));

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

/** Throws UsageError, whose text names the flag and what it needs. node:util's parseArgs would cost a tenth of the start. */
export function parseCommandLine(argv: readonly string[]): CommandLine {
  const given: Record<string, unknown> = {};
  const words: string[] = [];
  const unknown: string[] = [];
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at]!;
    if (word === "--") {
      words.push(...argv.slice(at + 1));
      break;
    }
    const written = asFlag(word);
    if (!written) words.push(word);
    else if (written.name === undefined) unknown.push(written.dashed);
    else {
      const { name, inlineValue } = written;
      const flag = flags[name]!;
      if (!flag.value) given[name] = switchOf(name, inlineValue);
      else {
        const value = inlineValue === undefined ? nextValue(name, flag, argv[++at]) : inlineValue;
        checkValue(name, flag, value);
        given[name] = flag.many ? [...((given[name] as string[] | undefined) ?? []), value] : value;
      }
    }
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

/** A word that is written as a flag. `name` is undefined where nobody here knows it. */
interface WrittenFlag {
  name: string | undefined;
  /** As it was written, without its value. */
  dashed: string;
  inlineValue: string | undefined;
}

/** Undefined for a word that is none. pi's short forms have up to three letters, so that they cannot be written together. */
function asFlag(word: string): WrittenFlag | undefined {
  if (!word.startsWith("-") || word === "-") return undefined;
  const equals = word.indexOf("=");
  const dashed = equals < 0 ? word : word.slice(0, equals);
  const name = dashed.startsWith("--") ? dashed.slice(2) : Object.keys(flags).find((one) => flags[one]!.short === dashed.slice(1));
  return { name: name !== undefined && Object.hasOwn(flags, name) ? name : undefined, dashed, inlineValue: equals < 0 ? undefined : word.slice(equals + 1) };
}

/** The word that follows a flag; one that looks like a flag itself has to be written with `=`. */
function nextValue(name: string, flag: Flag, next: string | undefined): string {
  if (next !== undefined && !/^--?[a-zA-Z][\w-]*(=|$)/.test(next)) return next;
  if (name === "resume") throw new UsageError("--resume needs a session id or path here; `rpi sessions` lists them");
  throw new UsageError(`--${name} needs a value <${flag.value}>${next === undefined ? "" : `; if "${next}" is it, write --${name}=${next}`}`);
}

function checkValue(name: string, flag: Flag, value: string): void {
  if (flag.choices && !flag.choices.includes(value)) throw new UsageError(`--${name} must be one of ${flag.choices.join(", ")}, not "${value}"`);
  const fault = flag.check?.(value);
  if (fault) throw new UsageError(`--${name} ${fault}, not "${value}"`);
}

function switchOf(name: string, inlineValue: string | undefined): true {
  if (inlineValue !== undefined) throw new UsageError(`--${name} takes no value`);
  return true;
}
