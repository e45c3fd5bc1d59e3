import type { AgentMessage } from "../session/message.ts";

/** The files that a conversation read and changed, each in the order of its last use. */
export interface TouchedFiles {
  readFiles: string[];
  modifiedFiles: string[];
}

/** Of a longer list the earliest are forgotten: it is carried from one compaction to the next. */
const MAX_FILES = 500;
/** What the summary's text names of a list. */
const MAX_SHOWN = 60;

const READING: ReadonlySet<string> = new Set(["read"]);
const CHANGING: ReadonlySet<string> = new Set(["write", "edit"]);

/**
 * The files of the tool calls in `messages`, after those of an earlier compaction (`before`, its entry's `details`,
 * which may be anything). A changed file counts as changed only; a call that failed does not count.
 */
export function filesTouched(messages: readonly AgentMessage[], before?: unknown): TouchedFiles {
  const read = new Set(pathsIn(before, "readFiles"));
  const modified = new Set(pathsIn(before, "modifiedFiles"));
  const failed = new Set<unknown>();
  // Ids are unique within an answer only, so a failure counts for the call that stands nearest before it.
  const calls = new Map<string, unknown>();
  for (const message of messages) {
    if (message.role === "assistant") for (const block of message.content) block.type === "toolCall" && calls.set(block.id, block);
    if (message.role === "toolResult" && message.isError) failed.add(calls.get(message.toolCallId));
  }
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    for (const block of message.content) {
      if (block.type !== "toolCall" || failed.has(block)) continue;
      const path = block.arguments?.path;
      if (typeof path !== "string" || path === "") continue;
      if (CHANGING.has(block.name)) touch(modified, path);
      else if (READING.has(block.name)) touch(read, path);
    }
  }
  for (const path of modified) read.delete(path);
  return { readFiles: [...read].slice(-MAX_FILES), modifiedFiles: [...modified].slice(-MAX_FILES) };
}

function touch(paths: Set<string>, path: string): void {
  paths.delete(path);
  paths.add(path);
}

function pathsIn(details: unknown, key: keyof TouchedFiles): string[] {
  const list = typeof details === "object" && details !== null ? (details as Record<string, unknown>)[key] : undefined;
  return Array.isArray(list) ? list.filter((path): path is string => typeof path === "string") : [];
}

/** The lists as they stand at the end of a summary; empty when there are none. */
export function filesText({ readFiles, modifiedFiles }: TouchedFiles): string {
  return section("read-files", readFiles) + section("modified-files", modifiedFiles);
}

function section(tag: string, paths: readonly string[]): string {
  if (paths.length === 0) return "";
  const more = paths.length > MAX_SHOWN ? `(and ${paths.length - MAX_SHOWN} earlier ones)\n` : "";
  return `\n\n<${tag}>\n${more}${paths.slice(-MAX_SHOWN).join("\n")}\n</${tag}>`;
}

/** A summary without the lists at its end: they are made anew, so that a model has no need to copy them. */
export function withoutFiles(summary: string): string {
  return summary.replace(/(?:\s*<(read-files|modified-files)>\n[\s\S]*?\n<\/\1>)+\s*$/, "");
}
