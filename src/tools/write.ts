import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { countWords, sizeWords } from "../base/text.ts";
import { inTurn } from "./file-queue.ts";
import { kindOf, reasonOf, resolvePath, showPath, statOf } from "./path.ts";
import { replaceFile } from "./replace-file.ts";
import { tidy } from "./tidy.ts";
import { type Tool, ToolFailure } from "./tool.ts";
import prose from "./write.md" with { type: "text" };

const parameters = z.object({
  path: z.string().min(1).describe("File to write, absolute or relative to the working directory"),
  content: z.string().describe("The whole content of the file"),
});

/** Makes a file or replaces all of its content. */
export const write: Tool<z.infer<typeof parameters>> = {
  name: "write",
  description: prose.trim(),
  snippet: "Create a file or replace all of its content",
  parameters: () => parameters,
  prepare: (args) => tidy(args, parameters),
  async run({ path: input, content }, { cwd, signal }) {
    const path = resolvePath(input, cwd);
    const shown = showPath(path, cwd);
    return inTurn(path, async () => {
      signal.throwIfAborted();
      const old = await statOf(path);
      if (old && !old.isFile()) throw new ToolFailure(`${shown} is ${kindOf(old)}. Give the path of a file.`);
      if (!old) await makeFolder(dirname(path), shown);
      await replaceFile(path, content);
      const lines = content === "" ? 0 : content.split("\n").length - (content.endsWith("\n") ? 1 : 0);
      const text = `${old ? "Replaced" : "Created"} ${shown} (${countWords(lines, "line")}, ${sizeWords(Buffer.byteLength(content))}).`;
      return { content: [{ type: "text", text }] };
    });
  },
};

async function makeFolder(folder: string, shown: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    throw new ToolFailure(`Cannot make the folder of ${shown}: ${reasonOf(error)}.`);
  }
}
