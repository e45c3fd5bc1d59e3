import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { randomHex } from "../base/random.ts";
import { Refusal } from "../base/refusal.ts";
import { wordsOf } from "../base/text.ts";
import { Child } from "./child.ts";
import { childEnvironment, type Environment } from "./environment.ts";
import { Ladder } from "./ladder.ts";
import { MARK } from "./platform.ts";
import { Reaper } from "./reaper.ts";
import { sendSignal } from "./signals.ts";
import { system } from "./system.ts";
import { startPiped, type Wired } from "./wiring.ts";

/** Who asked for a child: what a command of the shell leaves behind lives on when the processes are stopped. */
export type Owner = "shell" | "process";

export interface ChildOptions {
  /** The program and its arguments; the program is looked for in the child's own PATH. */
  argv: readonly string[];
  /** Absolute. */
  cwd: string;
  owner: Owner;
  /** Over rpi's own environment; null removes a name. */
  env?: Readonly<Record<string, string | null>> | undefined;
  /** Else it is closed. */
  hasStdin?: boolean;
  /** Starts it on a terminal instead of pipes. */
  startOnTerminal?: ((o: { argv: readonly string[]; cwd: string; env: Record<string, string> }) => Bun.Subprocess) | undefined;
  signal?: AbortSignal | undefined;
  /** From its start; then it is ended by the ladder. */
  timeoutMs?: number | undefined;
  /** Between TERM and KILL after an abort or a timeout. */
  graceMs?: number | undefined;
}

const GRACE_MS = 300;
const LOOK_EVERY_MS = 1_000;

/** Every child of rpi is started here and ends, at the latest, with rpi, however rpi ends. */
export class Children {
  readonly #env: Environment;
  readonly #hidden: ReadonlySet<string>;
  /** In the name, so that an rpi among the children of another does not hide the other's mark. */
  readonly #mark = `${MARK}${randomHex(12)}`;
  readonly #reaper = new Reaper(this.#mark);
  /** Those whose group is not known to be empty, by owner. */
  readonly #groups = new Map<Child, Owner>();
  #started = 0;
  #running = 0;
  #lookTimer: ReturnType<typeof setInterval> | undefined;
  #isClosed = false;

  constructor(o: { env: Environment; hiddenNames: ReadonlySet<string> }) {
    this.#env = o.env;
    this.#hidden = o.hiddenNames;
  }

  /** Programs that have not exited. */
  get alive(): number {
    return this.#running;
  }

  /**
   * Starts a child in a session and group of its own. Throws a Refusal: `cancelled` when the signal has
   * aborted already, `invalid` for a bad argv or cwd, `unavailable` with the system's reason.
   */
  run(o: ChildOptions): Child {
    if (this.#isClosed) throw new Refusal("cancelled", "rpi is shutting down");
    if (o.signal?.aborted) throw new Refusal("cancelled", "cancelled before it was started");
    checkPlace(o);
    const number = ++this.#started;
    const value = `${o.owner}.${number}`;
    const env = childEnvironment({
      base: this.#env,
      hidden: this.#hidden,
      isQuiet: !o.startOnTerminal,
      overlay: o.env,
      mark: [this.#mark, value],
    });
    this.#reaper.start();
    const { process, output, input } = start(o, env);
    const child = new Child({
      process,
      output,
      input,
      findStrays: () => system.findMarked({ name: this.#mark, value, outside: process.pid }),
      isAnyMarked: () => system.findMarked({ name: this.#mark, value }).length > 0,
      onExit: () => this.#exited(),
      onGroupGone: (child) => this.#groupGone(child),
      signal: o.signal,
      timeoutMs: o.timeoutMs,
      graceMs: o.graceMs ?? GRACE_MS,
    });
    this.#reaper.add(child.pid);
    this.#groups.set(child, o.owner);
    this.#running += 1;
    return child;
  }

  /**
   * Ends all children of the owner (default: all), what finished ones have left behind included, and
   * resolves when they are gone. TERM first, KILL after the grace.
   */
  async stopAll(graceMs: number, owner?: Owner): Promise<void> {
    const killAt = performance.now() + graceMs;
    const mine = [...this.#groups].filter(([, of]) => owner === undefined || of === owner);
    await Promise.all(mine.map(([child]) => child.stop(graceMs)));
    if (this.#started === 0) return;
    const value = owner === undefined ? "" : `${owner}.`;
    const find = () => system.findMarked({ name: this.#mark, value, isPrefix: true });
    if (find().length === 0) return;
    const strays = {
      signal: (signal: NodeJS.Signals) => find().forEach((pid) => sendSignal(pid, signal)),
      isGone: () => find().length === 0,
    };
    await new Ladder(strays, Math.max(0, killAt - performance.now())).done;
  }

  /** stopAll for good: starts no child afterwards. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    await this.stopAll(graceMs);
    clearInterval(this.#lookTimer);
    if (this.#groups.size === 0) this.#reaper.dismiss();
  }

  #exited(): void {
    this.#running -= 1;
    if (this.#groups.size === this.#running || this.#lookTimer) return;
    // Something was left behind in a group; nothing tells when it ends.
    this.#lookTimer = setInterval(() => this.#look(), LOOK_EVERY_MS);
    this.#lookTimer.unref();
  }

  #look(): void {
    let left = 0;
    for (const child of this.#groups.keys()) {
      if (child.hasExited && !child.look()) left += 1;
    }
    if (left > 0) return;
    clearInterval(this.#lookTimer);
    this.#lookTimer = undefined;
  }

  #groupGone(child: Child): void {
    this.#groups.delete(child);
    this.#reaper.remove(child.pid);
  }
}

function start(o: ChildOptions, env: Record<string, string>): Pick<Wired, "process"> & Partial<Wired> {
  try {
    if (o.startOnTerminal) return { process: o.startOnTerminal({ argv: o.argv, cwd: o.cwd, env }) };
    return startPiped({ argv: o.argv, cwd: o.cwd, env, hasStdin: o.hasStdin ?? false });
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal("unavailable", `cannot start ${o.argv[0]}: ${wordsOf(error)}`);
  }
}

function checkPlace({ argv, cwd, env }: ChildOptions): void {
  if (!argv[0]) throw new Refusal("invalid", "argv must contain a non-empty application");
  if (argv.some((word) => word.includes("\0"))) throw new Refusal("invalid", "argv must not contain NUL");
  for (const [name, value] of Object.entries(env ?? {})) {
    if (name === "" || /[=\0]/.test(name) || value?.includes("\0")) throw new Refusal("invalid", `env has a name or value that no environment can hold: ${JSON.stringify(name)}`);
  }
  if (!isAbsolute(cwd)) throw new Refusal("invalid", "cwd must be absolute");
  if (!isFolder(cwd)) throw new Refusal("invalid", "cwd does not exist");
}

/** Not one either when the way there cannot be walked. */
function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
