import type { SessionSummary } from "../session/glance.ts";
import { listSessions, type SessionPlaces } from "../session/list.ts";

/** `rpi sessions`: those of this folder or of all, newest first, for a person or as JSON lines. */
export async function sessionsText(places: SessionPlaces, cwd: string, { all, json }: { all: boolean; json: boolean }): Promise<string> {
  const sessions = await listSessions(places, all ? undefined : cwd);
  if (json) return sessions.map((session) => `${JSON.stringify(session)}\n`).join("");
  if (sessions.length === 0) return all ? "There are no sessions.\n" : "There are no sessions of this folder; --all lists those of others.\n";
  return sessions.map((session) => `${line(session, all)}\n`).join("");
}

function line({ id, name, firstMessage, messageCount, modifiedAt, cwd }: SessionSummary, all: boolean): string {
  const time = new Date(modifiedAt).toISOString().slice(0, 16).replace("T", " ");
  const title = printable(name ?? firstMessage).slice(0, 60);
  return `${id}  ${time}  ${String(messageCount).padStart(5)}  ${all ? `${printable(cwd)}  ` : ""}${title}`;
}

/** One line, and nothing that a terminal would obey. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim();
}
