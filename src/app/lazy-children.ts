import type { Children } from "../process/children.ts";
import type { ProcessEvent, Supervisor } from "../process/supervisor.ts";

export interface LazyChildrenOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** Names of variables that children do not get; asked when the first one starts. */
  hiddenNames(): ReadonlySet<string>;
  emit(event: ProcessEvent): void;
  /** True while output that can be had later need not be told. */
  pressed(): boolean;
}

/** What starts and ends children, loaded with the first of them. */
export class LazyChildren {
  #children: Promise<Children> | undefined;
  #supervisor: Promise<Supervisor> | undefined;
  #isStopped = false;

  constructor(private readonly o: LazyChildrenOptions) {}

  children(): Promise<Children> {
    return (this.#children ??= this.#makeChildren());
  }

  /** Of processes. */
  supervisor(): Promise<Supervisor> {
    return (this.#supervisor ??= this.#makeSupervisor());
  }

  /** Ends the supervised processes, if there are any. */
  async stopProcesses(graceMs: number): Promise<void> {
    await (await this.#supervisor)?.stopAll(graceMs);
  }

  /** Stops every child that is left, for good: TERM, `graceMs`, KILL, until all are gone and told. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    const children = await this.#children;
    await Promise.all([this.stopProcesses(graceMs), children?.close(graceMs)]);
  }

  async #makeChildren(): Promise<Children> {
    const { Children } = await import("../process/children.ts");
    const children = new Children({ env: this.o.env, hiddenNames: this.o.hiddenNames() });
    if (this.#isStopped) await children.close(0);
    return children;
  }

  async #makeSupervisor(): Promise<Supervisor> {
    const { emit, pressed } = this.o;
    const [{ Supervisor }, children] = await Promise.all([import("../process/supervisor.ts"), this.children()]);
    return new Supervisor({ children, emit, pressed });
  }
}
