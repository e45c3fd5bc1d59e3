import type { Zod } from "../../base/zod.ts";
import { command } from "../command.ts";
import { loopTask } from "../shapes.ts";

const interval = (z: Zod) => z.string().describe("digits and s, m, h or d, such as 90s or 5m; digits alone are seconds");
const one = (z: Zod) => z.object({ taskId: z.string() });
const wasThere = (z: Zod) => z.boolean();

export const loops = {
  loop_create: command({
    summary: "Send a prompt now, and again whenever the agent is idle after an interval; for seven days at most.",
    when: "now",
    params: (z) => z.object({
      interval: interval(z), prompt: z.string(),
      fireImmediately: z.boolean().optional().describe("for the first time at once (default), or after an interval"),
      durable: z.boolean().optional().describe("comes back with the session (default: false)"),
    }),
    data: loopTask,
    run: async (app, fields) => (await app.loops()).create(fields),
  }),
  loop_update: command({
    summary: "Change the interval or the prompt of a loop.",
    when: "now",
    params: (z) => one(z).extend({ interval: interval(z).optional(), prompt: z.string().optional() }),
    data: loopTask,
    run: async (app, fields) => (await app.loops()).update(fields),
  }),
  loop_list: command({
    summary: "The loops of the session.",
    when: "now",
    data: (z) => z.array(loopTask(z)),
    run: async (app) => (await app.loops()).list(),
  }),
  loop_delete: command({
    summary: "Remove a loop; a firing that is under way goes on.",
    when: "now",
    params: one,
    data: wasThere,
    run: async (app, { taskId }) => (await app.loops()).delete(taskId),
  }),
  loop_cancel: command({
    summary: "Remove a loop and abort its firing.",
    when: "now",
    params: one,
    data: wasThere,
    run: async (app, { taskId }) => (await app.loops()).cancel(taskId),
  }),
};
