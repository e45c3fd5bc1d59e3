import type { AppOptions } from "../app.ts";
import { Session } from "../session/session.ts";
import type { Configuration } from "./configuration.ts";

/** The session that the flags ask for. Refuses flags that contradict each other. */
export async function openFirst(configuration: Configuration, { flags, cwd }: AppOptions): Promise<Session> {
  const dir = flags["no-session"] ? null : configuration.sessionFolder(cwd);
  const session = Session.create({ cwd, dir });
  const name = flags.name?.replace(/[\r\n]+/g, " ").trim();
  if (name) session.append({ type: "session_info", name });
  return session;
}
