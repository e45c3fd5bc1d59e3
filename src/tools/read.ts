import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { z } from "zod";
import { kindOf, reasonOf, resolveExisting, showPath } from "./path.ts";
import prose from "./read.md" with { type: "text" };
import { readImage, sniffImage } from "./read-image.ts";
import { readText } from "./read-text.ts";
import { tidy } from "./tidy.ts";
import { type Tool, ToolFailure } from "./tool.ts";

const parameters = z.object({
  path: z.string().min(1).describe("File to read, absolute or relative to the working directory"),
  offset: z.number().optional().describe("First line to show, counted from 1"),
  limit: z.number().optional().describe("Number of lines to show"),
});

/** Shows a text file by ranges of lines, and images as images. */
export const read: Tool<z.infer<typeof parameters>> = {
  name: "read",
  description: prose.trim(),
  snippet: "Read a text file or an image",
  parameters: () => parameters,
  prepare: (args) => tidy(args, parameters),
  async run({ path: input, offset, limit }, { cwd, signal }) {
    const { path, stats } = await resolveExisting(input, cwd);
    const shown = showPath(path, cwd);
    if (stats.isDirectory()) throw new ToolFailure(`${shown} is a folder. Use ls to see what is in it.`);
    if (!stats.isFile()) throw new ToolFailure(`${shown} is ${kindOf(stats)}, not a file; reading it could wait for ever.`);
    // Some files of the kernel wait for their next line; without a wait they give what there is.
    const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
      throw new ToolFailure(`Cannot read ${shown}: ${reasonOf(error)}.`);
    });
    try {
      const start = Buffer.alloc(32);
      const { bytesRead } = await handle.read(start, 0, start.length, 0);
      const type = sniffImage(start.subarray(0, bytesRead));
      if (type) return await readImage({ load: () => handle.readFile(), size: stats.size, type, shown });
      return await readText(handle, {
        shown,
        stats,
        offset: Math.max(1, Math.floor(offset ?? 1)),
        limit: limit === undefined ? undefined : Math.max(1, Math.floor(limit)),
        signal,
      });
    } catch (error) {
      if (error instanceof ToolFailure || signal.aborted) throw error;
      throw new ToolFailure(`Cannot read ${shown}: ${reasonOf(error)}.`);
    } finally {
      await handle.close();
    }
  },
};
