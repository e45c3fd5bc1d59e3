import fs from "../base/lazy-fs.ts";
import path from "node:path";
import type { Agent } from "../agent/agent.ts";
import { asRefusal } from "../agent/stored.ts";
import type { ModelSpec, ThinkingLevel } from "../llm/model.ts";
import type { SessionSummary } from "../session/glance.ts";
import { fileIdentity } from "../session/lock.ts";
import { Session } from "../session/session.ts";
import type { Configuration } from "./configuration.ts";
import { placeSession } from "./session-choice.ts";

/** What the commands that replace a session answer. Nothing can veto one yet, so `cancelled` is false. */
export interface Replaced {
  cancelled: boolean;
}

export interface SessionsOptions {
  configuration: Configuration;
  agent: Agent;
  /** Ends what belongs to the session that goes: its processes, its loops. */
  leave(): Promise<void>;
  /** The model and level that a session was left with. */
  left(session: Session): { spec: ModelSpec | undefined; level: ThinkingLevel };
  /** Takes up what belongs to the session that came, and tells of it. */
  arrive(): Promise<void>;
}

/**
 * The four ways in which one session takes the place of another (protocol.md, section 6): validate, abort and
 * wait until idle, stop what belongs to the old one, replace, tell. What is refused changes nothing.
 */
export class Sessions {
  constructor(private readonly o: SessionsOptions) {}

  async begin(parentSession?: string): Promise<Replaced> {
    const { cwd } = this.#current;
    return this.#replace(async () => Session.create({ cwd, dir: this.#dir, ...(parentSession ? { parentSession: path.resolve(cwd, parentSession) } : {}) }), { keepsModel: true });
  }

  async switchTo(sessionPath: string): Promise<Replaced> {
    const current = this.#current;
    const file = path.resolve(current.cwd, sessionPath);
    // A second reading of the file that is open would miss what the run that is aborted writes at its end.
    const next = isSameFile(file, current.file) ? current : await Session.open(file);
    placeSession(next, current.cwd, this.o.configuration.notices);
    return this.#replace(async () => next);
  }

  async fork(entryId: string): Promise<Replaced & { text: string }> {
    const { text, leafId } = this.#current.forkPoint(entryId);
    return { text, ...(await this.#replace((source) => this.#copy(source, leafId))) };
  }

  async clone(): Promise<Replaced> {
    return this.#replace((source) => this.#copy(source, source.leafId));
  }

  async list(scope: "current" | "all"): Promise<SessionSummary[]> {
    const { listSessions } = await import("../session/list.ts");
    return listSessions(this.o.configuration.places, scope === "all" ? undefined : this.#current.cwd);
  }

  get #current(): Session {
    return this.o.agent.session;
  }

  /** Where the file of a new session belongs; null while sessions are kept in memory. */
  get #dir(): string | null {
    const { cwd } = this.#current;
    return this.o.configuration.keepsFiles ? this.o.configuration.sessionFolder(cwd) : null;
  }

  #copy(source: Session, leafId: string | null): Promise<Session> {
    return Session.fork(source, { cwd: source.cwd, dir: this.#dir, leafId });
  }

  /** The next session is made before anything is stopped but the run: when it cannot be, the old one has what it had. */
  async #replace(make: (old: Session) => Promise<Session>, { keepsModel = false } = {}): Promise<Replaced> {
    const { agent } = this.o;
    await agent.abort();
    const old = this.#current;
    const next = await this.#made(make, old);
    await this.o.leave();
    if (next !== old) {
      agent.replaceSession(next, keepsModel ? undefined : this.o.left(next));
      this.#end(old);
    }
    await this.o.arrive();
    return { cancelled: false };
  }

  #end(old: Session): void {
    try {
      old.sync();
    } catch (error) {
      this.o.configuration.notices.push({ level: "warning", code: "session_not_synced", message: `The session that was left may not survive a loss of power: ${(error as Error).message}` });
    }
    old.close();
  }

  async #made(make: (old: Session) => Promise<Session>, old: Session): Promise<Session> {
    try {
      return await make(old);
    } catch (error) {
      throw asRefusal("The session was not replaced", error);
    }
  }
}

function isSameFile(file: string, other: string | undefined): boolean {
  return other !== undefined && fs.existsSync(file) && fs.existsSync(other) && fileIdentity(file) === fileIdentity(other);
}
