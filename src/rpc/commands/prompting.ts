import type { Zod } from "../../base/zod.ts";
import { Answer, command } from "../command.ts";
import { compactionResult, image, nothing } from "../shapes.ts";

const queueing = (z: Zod) => z.object({ message: z.string(), images: z.array(image(z)).optional() });
const queued = (z: Zod) => z.object({ disposition: z.enum(["queued", "handled"]) });

export const prompting = {
  prompt: command({
    summary: "Give the agent a message; it is accepted, queued or handled when the answer comes, and events tell the rest.",
    when: "session",
    params: (z) => queueing(z).extend({ streamingBehavior: z.enum(["steer", "followUp"]).optional().describe("how it is queued while a run is active; without it, it is refused then") }),
    data: (z) => z.object({ disposition: z.enum(["started", "queued", "handled"]) }),
    run: ({ agent }, { message, images, streamingBehavior }, { id }) => {
      const taken = agent.prompt({ text: message, images, streamingBehavior, requestId: id });
      if (taken.disposition === "queued") return { disposition: "queued" };
      return new Answer({ disposition: "started" }, taken.start);
    },
  }),
  steer: command({
    summary: "Queue a message that goes in before the next model call; at rest it waits for the next prompt.",
    when: "now",
    params: queueing,
    data: queued,
    run: ({ agent }, { message, images }, { id }) => {
      agent.steer({ text: message, images, requestId: id });
      return { disposition: "queued" };
    },
  }),
  follow_up: command({
    summary: "Queue a message that goes in when the agent would stop; at rest it waits for the next prompt.",
    when: "now",
    params: queueing,
    data: queued,
    run: ({ agent }, { message, images }, { id }) => {
      agent.followUp({ text: message, images, requestId: id });
      return { disposition: "queued" };
    },
  }),
  abort: command({
    summary: "Stop what runs; answered when the agent is idle. Queued messages stay queued.",
    when: "always",
    urgent: true,
    holdsSession: true,
    data: nothing,
    run: async ({ agent }, _, { sessionBefore }) => {
      await agent.abort();
      // A prompt that came before and was not accepted yet: it is accepted, then aborted.
      if (sessionBefore) await sessionBefore.then(() => agent.abort());
      return null;
    },
  }),
  compact: command({
    summary: "Replace the older talk by a summary of it.",
    when: "session",
    params: (z) => z.object({ customInstructions: z.string().optional() }),
    data: compactionResult,
    run: ({ agent }, { customInstructions }, { release }) => agent.compact(customInstructions, release),
  }),
  clear_queue: command({
    summary: "Take back all queued messages.",
    when: "now",
    data: (z) => z.object({ steering: z.array(z.string()), followUp: z.array(z.string()) }),
    run: ({ agent }) => agent.clearQueue(),
  }),
};
