import fs from "node:fs";
import { readContextFiles } from "../agent/context-files.ts";
import { buildSystemPrompt } from "../agent/system-prompt.ts";
import type { Flags } from "../settings/flags.ts";
import type { Tool } from "../tools/tool.ts";
import type { Configuration } from "./configuration.ts";

/** The system prompt of a run: ours or --system-prompt's, the tools, the context files, what --append-system-prompt adds. */
export function systemPrompt(tools: Tool[], configuration: Configuration, flags: Flags, cwd: string, notice: (words: string) => void): string {
  const { files, notices } = flags["no-context-files"] ? { files: [], notices: [] } : readContextFiles({ agentDir: configuration.agentDir, cwd });
  notices.forEach(notice);
  return buildSystemPrompt({
    cwd, tools, contextFiles: files,
    ...(flags["system-prompt"] === undefined ? {} : { replacement: textOrFile(flags["system-prompt"]) }),
    additions: (flags["append-system-prompt"] ?? []).map(textOrFile),
  });
}

/** The content of the file of that name if there is one, else the text itself. */
function textOrFile(value: string): string {
  try {
    if (value.length < 4096 && fs.statSync(value).isFile()) return fs.readFileSync(value, "utf8");
  } catch {
    // No file of that name: it is the text.
  }
  return value;
}
