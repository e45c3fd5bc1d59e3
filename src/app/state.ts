import type { Agent } from "../agent/agent.ts";
import type { Plan } from "../agent/todo-graph.ts";

/** What is going on (protocol.md, section 5, get_state). */
export function stateOf(agent: Agent, todoPhases: Plan) {
  const { session } = agent;
  return {
    ...(agent.model ? { model: agent.model.model } : {}),
    thinkingLevel: agent.thinkingLevel,
    isStreaming: agent.isStreaming,
    isCompacting: agent.isCompacting,
    steeringMode: agent.steeringMode,
    followUpMode: agent.followUpMode,
    ...fileOf(agent),
    sessionId: session.id,
    ...(session.name === undefined ? {} : { sessionName: session.name }),
    autoCompactionEnabled: agent.autoCompaction,
    autoRetryEnabled: agent.autoRetry,
    messageCount: session.messageCount,
    pendingMessageCount: agent.pendingMessageCount,
    cwd: session.cwd,
    todoPhases,
    // No work goes on behind the start that prompts would wait for.
    isReady: true,
  };
}

/** Counts, tokens and cost of the session (protocol.md, section 6, get_session_stats). */
export function statsOf(agent: Agent) {
  const { session } = agent;
  return { ...fileOf(agent), sessionId: session.id, ...session.stats(), contextUsage: agent.contextUsage() };
}

function fileOf({ session: { file } }: Agent): { sessionFile?: string } {
  return file === undefined ? {} : { sessionFile: file };
}
