import type { AppOptions } from "../app.ts";
import { findSession, newestSession, sessionWithId } from "../session/find.ts";
import { Session } from "../session/session.ts";
import type { Configuration } from "./configuration.ts";

/** The session that the flags ask for (protocol.md, section 1); contradictions were refused before. */
export async function openFirst(configuration: Configuration, options: AppOptions): Promise<Session> {
  const session = await choose(configuration, options);
  const name = options.flags.name?.replace(/[\r\n]+/g, " ").trim();
  try {
    if (name && name !== session.name) session.append({ type: "session_info", name });
  } catch (error) {
    session.close();
    throw error;
  }
  return session;
}

async function choose(configuration: Configuration, { flags, cwd }: AppOptions): Promise<Session> {
  const { places } = configuration;
  const dir = configuration.keepsFiles ? configuration.sessionFolder(cwd) : null;
  const id = flags["session-id"];
  const named = flags.session ?? flags.resume;
  if (named !== undefined) return Session.open(findSession(named, places, cwd));
  if (flags.fork !== undefined) return Session.fork(findSession(flags.fork, places, cwd), { cwd, dir, ...(id === undefined ? {} : { id }) });
  const found = flags.continue ? newestSession(places, cwd) : id === undefined || dir === null ? undefined : sessionWithId(id, places, cwd);
  if (found !== undefined) return Session.open(found);
  return Session.create({ cwd, dir, ...(id === undefined ? {} : { id }) });
}
