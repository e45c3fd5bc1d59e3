import fs from "../base/lazy-fs.ts";
import { Refusal } from "../base/refusal.ts";
import { claimByFlock } from "./lock-flock.ts";
import { claimOnWindows } from "./lock-windows.ts";

/** The right to write one session file. The system takes it back when the process ends, however it ends. */
export interface Lock {
  /** False where the file system cannot lock: nothing keeps a second writer out, people should be told. */
  readonly isHeld: boolean;
  release(): void;
}

/** Claims of this process, by file: a session that replaces another one on the same file shares its claim. */
const claims = new Map<string, { release(): void; users: number }>();

/** The same for every name of a file that is there. */
export function fileIdentity(file: string): string {
  const { dev, ino } = fs.statSync(file);
  return ino ? `${dev}:${ino}` : fs.realpathSync(file);
}

/** Throws Refusal `busy`, naming the owner where the system tells it, when another process holds the file. */
export function lockFile(file: string): Lock {
  const key = fileIdentity(file);
  let claim = claims.get(key);
  if (claim) claim.users++;
  else {
    const answer = process.platform === "win32" ? claimOnWindows(file) : claimByFlock(file);
    if (answer === "impossible") return { isHeld: false, release() {} };
    if ("owner" in answer) throw busy(file, answer.owner);
    claims.set(key, (claim = { release: answer.release, users: 1 }));
  }
  return { isHeld: true, release: once(() => leave(key)) };
}

function leave(key: string): void {
  const claim = claims.get(key);
  if (!claim || --claim.users > 0) return;
  claims.delete(key);
  claim.release();
}

function once(run: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) run();
    isDone = true;
  };
}

function busy(file: string, owner: number | undefined): Refusal {
  const who = owner === undefined ? "another process" : `process ${owner}`;
  return new Refusal("busy", `The session ${file} is in use: ${who} has it open and locked. End that one first, or fork the session.`);
}
