import { readFile } from "node:fs/promises";
import { z } from "zod";
import { countWords, sizeWords } from "../base/text.ts";
import { diffOf, type EditDiff } from "./edit-diff.ts";
import { applyReplacements, matchEdits, type Matched } from "./edit-match.ts";
import { inTurn } from "./file-queue.ts";
import { kindOf, reasonOf, resolveExisting, resolvePath, showPath, statOf } from "./path.ts";
import prose from "./edit.md" with { type: "text" };
import { replaceFile } from "./replace-file.ts";
import { tidy } from "./tidy.ts";
import { type Tool, ToolFailure, type ToolResult } from "./tool.ts";

const parameters = z.object({
  path: z.string().min(1).describe("File to change, absolute or relative to the working directory"),
  edits: z
    .array(
      z.object({
        oldText: z.string().describe("Text as it stands in the file now; it must occur in one place only"),
        newText: z.string().describe("Text to put in its place"),
      }),
    )
    .min(1)
    .describe("Replacements; all are looked up in the file as it is now, and they must not overlap"),
});

type Args = z.infer<typeof parameters>;

const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** Replaces pieces of a text file; outside them not a byte changes. */
export const edit: Tool<Args> = {
  name: "edit",
  description: prose.trim(),
  snippet: "Replace exact pieces of text in a file, several at once",
  parameters: () => parameters,
  prepare,
  async run({ path: input, edits }, { cwd, signal }) {
    edits.forEach(check);
    const named = resolvePath(input, cwd);
    return inTurn(named, async () => {
      signal.throwIfAborted();
      // Only now: an earlier call of the same message may have made it.
      const { path } = await resolveExisting(input, cwd);
      return path === named ? apply(path, edits, cwd) : inTurn(path, () => apply(path, edits, cwd));
    });
  },
};

async function apply(path: string, edits: Args["edits"], cwd: string): Promise<ToolResult> {
  const shown = showPath(path, cwd);
  const text = await textOf(path, shown);
  const { matched, changed, result } = change(text, edits, shown);
  await replaceFile(path, result);
  const { diff, firstChangedLine } = changed;
  return { content: [{ type: "text", text: summary(shown, changed, matched) }], details: { diff, firstChangedLine } };
}

/** pi's older shape `{path, oldText, newText}`, a single pair in place of the list, a list as JSON text. */
function prepare(args: Record<string, unknown>): Record<string, unknown> {
  const { oldText, newText, ...rest } = tidy(args, parameters);
  const list = rest.edits === undefined || rest.edits === null ? [] : Array.isArray(rest.edits) ? rest.edits : [rest.edits];
  const hasPair = oldText !== undefined && oldText !== null;
  return { ...rest, edits: hasPair ? [...list, { oldText, newText }] : list };
}

function check({ oldText, newText }: Args["edits"][number], index: number): void {
  if (oldText === "") throw new ToolFailure(`edits[${index}].oldText is empty. To add text give a line that stands there now as oldText, and that line with the new text as newText; to fill a new or empty file use write.`);
  if (oldText === newText) throw new ToolFailure(`edits[${index}] changes nothing: oldText and newText are the same. Nothing was changed.`);
}

async function textOf(path: string, shown: string): Promise<string> {
  const stats = await statOf(path);
  if (!stats) throw new ToolFailure(`${shown} is gone since the call began. Nothing was changed.`);
  if (!stats.isFile()) throw new ToolFailure(`${shown} is ${kindOf(stats)}. Give the path of a text file.`);
  if (stats.size > MAX_FILE_BYTES) throw new ToolFailure(`${shown} is too large to edit (${sizeWords(stats.size)}). Change it with bash, e.g. with sed -i.`);
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new ToolFailure(`Cannot read ${shown}: ${reasonOf(error)}.`);
  });
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ToolFailure(`${shown} is not valid UTF-8, and an edit would damage it. Change it with bash, e.g. with sed -i under LC_ALL=C.`);
  }
}

function change(text: string, edits: Args["edits"], shown: string): { matched: Matched; changed: EditDiff; result: string } {
  const mark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  const body = text.slice(mark.length);
  const plain = (part: string) => part.replace(/^\uFEFF/, "");
  const matched = matchEdits(body, edits.map(({ oldText, newText }) => ({ oldText: plain(oldText), newText: plain(newText) })));
  const result = applyReplacements(body, matched.replacements);
  if (result === body) throw new ToolFailure(`Nothing was changed: ${shown} already reads so, apart from line ends, which edits keep. To convert those use bash.`);
  return { matched, changed: diffOf(body, matched.replacements), result: mark + result };
}

function summary(shown: string, { changed }: EditDiff, { tolerances, replacements }: Matched): string {
  const ranges = changed.slice(0, 20).map(({ first, last }) => (last < first ? `before ${first} (removed)` : last === first ? `${first}` : `${first}-${last}`));
  const where = `${ranges.join(", ")}${changed.length > 20 ? ", …" : ""}`;
  const loose = (tolerance: string, words: string) => (tolerances.some((one) => one === tolerance) ? ` ${words}` : "");
  return `Changed ${shown}: ${countWords(replacements.length, "replacement")}, now at line ${where}.${loose("blanks", "Blanks at the ends of lines differed from oldText.")}${loose("looks", "Some quotes, dashes or spaces differed from oldText; copy them from the file next time.")}`;
}
