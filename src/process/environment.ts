export type Environment = Record<string, string | undefined>;

/** Nobody is there to answer a question, close a pager or leave an editor. */
const QUIET: Readonly<Record<string, string>> = {
  GIT_TERMINAL_PROMPT: "0",
  GIT_EDITOR: "true",
  GIT_SEQUENCE_EDITOR: "true",
  GIT_PAGER: "cat",
  GH_PAGER: "cat",
  GH_PROMPT_DISABLED: "1",
  PAGER: "cat",
  MANPAGER: "cat",
  SYSTEMD_PAGER: "cat",
  AWS_PAGER: "",
  SSH_ASKPASS_REQUIRE: "never",
};

export interface EnvironmentParts {
  /** rpi's own. */
  base: Environment;
  /** Kept from children, whatever their case on Windows. */
  hidden: ReadonlySet<string>;
  /** For a child without a terminal: no questions, pagers and editors. */
  isQuiet: boolean;
  /** The caller's words come last; null and undefined remove a name. */
  overlay?: Readonly<Record<string, string | null | undefined>> | undefined;
  /** The mark by which what the child leaves behind is found. */
  mark: readonly [name: string, value: string];
}

/** The whole environment of one child. */
export function childEnvironment(parts: EnvironmentParts): Record<string, string> {
  const isHidden = hiddenTest(parts.hidden);
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(parts.base)) {
    if (value !== undefined && !isHidden(name)) result[name] = value;
  }
  if (parts.isQuiet) Object.assign(result, QUIET);
  for (const [name, value] of Object.entries(parts.overlay ?? {})) {
    if (value === null || value === undefined) delete result[name];
    else result[name] = value;
  }
  result[parts.mark[0]] = parts.mark[1];
  return result;
}

function hiddenTest(hidden: ReadonlySet<string>): (name: string) => boolean {
  if (process.platform !== "win32") return (name) => hidden.has(name);
  const upper = new Set([...hidden].map((name) => name.toUpperCase()));
  return (name) => upper.has(name.toUpperCase());
}
