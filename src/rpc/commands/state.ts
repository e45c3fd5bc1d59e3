import type { Zod } from "../../base/zod.ts";
import { command } from "../command.ts";
import { contextUsage, level, message, model, nothing, queueMode, todoPhase } from "../shapes.ts";

const enabled = (z: Zod) => z.object({ enabled: z.boolean() });
const mode = (z: Zod) => z.object({ mode: queueMode(z) });

export const state = {
  get_state: command({
    summary: "What is going on.",
    when: "always",
    data: (z) => z.looseObject({
      model: model(z).optional(), thinkingLevel: level(z), isStreaming: z.boolean(), isCompacting: z.boolean(), steeringMode: queueMode(z), followUpMode: queueMode(z),
      sessionFile: z.string().optional(), sessionId: z.string(), sessionName: z.string().optional(), autoCompactionEnabled: z.boolean(), autoRetryEnabled: z.boolean(),
      messageCount: z.number(), pendingMessageCount: z.number(), cwd: z.string(), todoPhases: z.array(todoPhase(z)), isReady: z.boolean(),
    }),
    run: (app) => app.state(),
  }),
  get_messages: command({
    summary: "The messages of the branch as the model will see them.",
    when: "now",
    data: (z) => z.looseObject({ messages: z.array(message(z)) }),
    run: ({ agent }) => ({ messages: agent.session.messages() }),
  }),
  get_commands: command({
    summary: "Prompt templates, skills and extension commands that a prompt may begin with.",
    when: "now",
    data: (z) => z.looseObject({
      commands: z.array(z.looseObject({
        name: z.string(), description: z.string().optional(), source: z.enum(["extension", "prompt", "skill"]),
        sourceInfo: z.looseObject({ path: z.string(), source: z.string(), scope: z.enum(["user", "project", "temporary"]), origin: z.enum(["top-level", "package"]), baseDir: z.string().optional() }),
      })),
    }),
    run: () => ({ commands: [] }),
  }),
  get_last_assistant_text: command({
    summary: "The text of the last answer that has one.",
    when: "now",
    data: (z) => z.looseObject({ text: z.string().nullable() }),
    run: ({ agent }) => ({ text: agent.session.lastAssistantText() }),
  }),
  get_session_stats: command({
    summary: "Counts, tokens and cost of the session.",
    when: "now",
    data: (z) => z.looseObject({
      sessionFile: z.string().optional(), sessionId: z.string(), userMessages: z.number(), assistantMessages: z.number(), toolCalls: z.number(), toolResults: z.number(), totalMessages: z.number(),
      tokens: z.looseObject({ input: z.number(), output: z.number(), cacheRead: z.number(), cacheWrite: z.number(), total: z.number() }), cost: z.number(), contextUsage: contextUsage(z).optional(),
    }),
    run: (app) => app.stats(),
  }),
  set_steering_mode: command({
    summary: "How many queued steers go in at once.",
    when: "now",
    params: mode,
    data: nothing,
    run: ({ agent }, params) => { agent.steeringMode = params.mode; },
  }),
  set_follow_up_mode: command({
    summary: "How many queued follow-ups go in at once.",
    when: "now",
    params: mode,
    data: nothing,
    run: ({ agent }, params) => { agent.followUpMode = params.mode; },
  }),
  set_auto_compaction: command({
    summary: "Compact by itself when the context is nearly full, or not.",
    when: "now",
    params: enabled,
    data: nothing,
    run: ({ agent }, params) => { agent.autoCompaction = params.enabled; },
  }),
  set_auto_retry: command({
    summary: "Try again by itself after a passing failure of the provider, or not.",
    when: "now",
    params: enabled,
    data: nothing,
    run: ({ agent }, params) => { agent.autoRetry = params.enabled; },
  }),
  reload: command({
    summary: "Read settings and models again.",
    when: "session",
    data: (z) => z.looseObject({ changed: z.array(z.string()) }),
    run: (app) => app.reload(),
  }),
  abort_retry: command({
    summary: "Give up waiting for a retry.",
    when: "always",
    urgent: true,
    data: nothing,
    run: ({ agent }) => { agent.abortRetry(); },
  }),
};
