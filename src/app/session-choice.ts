import fs from "../base/lazy-fs.ts";
import { sessionName } from "../session/name.ts";
import type { Notice } from "../session/open.ts";
import { Session } from "../session/session.ts";
import type { Configuration, Launch } from "./configuration.ts";

/** The session that the flags ask for (protocol.md, section 1); contradictions were refused before. */
export async function openFirst(configuration: Configuration, options: Launch): Promise<Session> {
  const session = await choose(configuration, options);
  placeSession(session, options.cwd, configuration.notices, { isAsked: options.flags.cwd !== undefined });
  return session;
}

/** Gives a session the name that was asked for, unless it has that. */
export function nameFirst(session: Session, asked: string | undefined): void {
  if (asked === undefined) return;
  const name = sessionName(asked);
  if (name !== session.name) session.append({ type: "session_info", name });
}

/**
 * A session is worked on in the folder it began in. When that is gone, or another one was asked for, it goes on in
 * `folder`.
 */
export function placeSession(session: Session, folder: string, notices: Notice[], { isAsked = false } = {}): void {
  if (session.cwd === folder) return;
  const isGone = !fs.statSync(session.cwd || folder, { throwIfNoEntry: false })?.isDirectory();
  if (isGone) notices.push({ level: "warning", code: "session_folder_gone", message: `The session's folder ${session.cwd} is not there any more; it goes on in ${folder}` });
  if (isGone || isAsked || session.cwd === "") session.workIn(folder);
}

async function choose(configuration: Configuration, { flags, cwd }: Launch): Promise<Session> {
  const { places } = configuration;
  const dir = configuration.keepsFiles ? configuration.sessionFolder(cwd) : null;
  const id = flags["session-id"];
  const named = flags.session ?? flags.resume;
  if (named === undefined && flags.fork === undefined && !flags.continue && id === undefined) return Session.create({ cwd, dir });
  const { findSession, newestSession, sessionWithId } = await import("../session/find.ts");
  if (named !== undefined) return Session.open(findSession(named, places, cwd));
  if (flags.fork !== undefined) return Session.fork(findSession(flags.fork, places, cwd), { cwd, dir, ...(id === undefined ? {} : { id }) });
  const found = flags.continue ? newestSession(places, cwd) : id === undefined || dir === null ? undefined : sessionWithId(id, places, cwd);
  if (found !== undefined) return Session.open(found);
  return Session.create({ cwd, dir, ...(id === undefined ? {} : { id }) });
}
