import { keep } from "../process/output-files.ts";
import type { AgentMessage } from "../session/message.ts";
import type { Session } from "../session/session.ts";

/** Appends a message; a file with the whole output that it names stays as long as the session's file does. */
export function appendWithOutput(session: Session, message: AgentMessage): void {
  session.append({ type: "message", message });
  const path = message.role === "bashExecution" ? message.fullOutputPath : message.role === "toolResult" ? (message.details as { fullOutputPath?: unknown } | undefined)?.fullOutputPath : undefined;
  if (typeof path === "string" && session.file !== undefined) keep(path);
}
