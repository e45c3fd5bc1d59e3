import type { Zod } from "../../base/zod.ts";
import { command } from "../command.ts";
import { nothing } from "../shapes.ts";

export const shell = {
  bash: command({
    summary: "Run a shell command in the session's folder; the model sees it with the next prompt unless excluded.",
    when: "free",
    params: (z) => z.object({ command: z.string(), excludeFromContext: z.boolean().optional().describe("not shown to the model (default: false)") }),
    data: (z) => z.looseObject({
      output: z.string().describe("stdout and stderr as they came; of a long output the end, and the whole in the file fullOutputPath"),
      stdout: z.string().describe("the same as output"), exitCode: z.number().nullable().describe("128 and its number after a signal; null when cancelled"),
      cancelled: z.boolean(), truncated: z.boolean(), fullOutputPath: z.string().optional(),
    }),
    run: ({ agent }, params, { id }) => agent.bash({ command: params.command, excludeFromContext: params.excludeFromContext, requestId: id }),
  }),
  abort_bash: command({
    summary: "Stop every running `bash` command.",
    when: "always",
    urgent: true,
    data: nothing,
    run: ({ agent }) => { agent.abortBash(); },
  }),
};
