import type { ContextFile } from "./context-files.ts";
import type { Tool } from "../tools/tool.ts";
import ours from "./system-prompt.md" with { type: "text" };

export interface PromptParts {
  cwd: string;
  tools: readonly Pick<Tool, "name" | "snippet">[];
  contextFiles: readonly ContextFile[];
  /** Stands instead of our own words and the list of tools (--system-prompt). */
  replacement?: string | undefined;
  /** Come after it (--append-system-prompt). */
  additions?: readonly string[];
}

/**
 * What the model is told before the conversation. The same parts give the same text, with no clock in it, so that
 * prompt caches hold from run to run.
 */
export function buildSystemPrompt({ cwd, tools, contextFiles, replacement, additions = [] }: PromptParts): string {
  const parts = replacement === undefined ? [ours.trim(), toolList(tools)] : [replacement];
  parts.push(...additions);
  for (const { path, content } of contextFiles) parts.push(`Instructions from ${path}:\n\n<instructions>\n${content.trim()}\n</instructions>`);
  parts.push(`The working folder is ${cwd}. Relative paths start there.`);
  return parts.filter((part) => part !== "").join("\n\n");
}

function toolList(tools: PromptParts["tools"]): string {
  if (!tools.length) return "You have no tools in this session: answer from what the conversation holds.";
  const has = (name: string) => tools.some((tool) => tool.name === name);
  const lines = tools.map(({ name, snippet }) => `- ${name}: ${snippet}`);
  if (has("bash") && !has("grep") && !has("find")) lines.push("", "Find files and search in them with bash (rg or grep, find, ls).");
  return `Tools:\n${lines.join("\n")}`;
}
