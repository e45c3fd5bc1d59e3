import type { Children } from "../process/children.ts";
import type { Processes } from "./process.ts";
import type { Tool } from "./tool.ts";

/** What the tools work with. */
export interface ToolDeps {
  children: Children;
  /** The shell of the bash tool; else one is looked for. */
  shellPath?: string | undefined;
  /** Without it there is no process tool. */
  process?: Processes | undefined;
  /** Gives the todo tool, which belongs to the agent that keeps the plan. */
  todo?: (() => Promise<Tool>) | undefined;
}

type Loader = (deps: ToolDeps) => Promise<Tool | undefined>;

/** Nothing of a tool is read before it is asked for. */
const LOADERS: Record<string, Loader> = {
  read: async () => (await import("./read.ts")).read,
  bash: async (deps) => (await import("./bash.ts")).bash(deps),
  edit: async () => (await import("./edit.ts")).edit,
  write: async () => (await import("./write.ts")).write,
  grep: async () => (await import("./grep.ts")).grep,
  find: async () => (await import("./find.ts")).find,
  ls: async () => (await import("./ls.ts")).ls,
  process: async (deps) => deps.process && (await import("./process.ts")).process(deps.process, deps),
  todo: async (deps) => deps.todo?.(),
};

/** The names of all built-in tools. */
export const BUILT_IN: readonly string[] = Object.keys(LOADERS);

/** Those that are active when nobody chose. */
export const DEFAULT_TOOLS: readonly string[] = ["read", "bash", "edit", "write"];

/** The built-in tools of these names, in their order; other names, and tools whose deps are not given, are left out. */
export async function loadTools(names: readonly string[], deps: ToolDeps): Promise<Tool[]> {
  const wanted = [...new Set(names)].filter((name) => Object.hasOwn(LOADERS, name));
  const tools = await Promise.all(wanted.map((name) => LOADERS[name]!(deps)));
  return tools.filter((tool) => tool !== undefined);
}
