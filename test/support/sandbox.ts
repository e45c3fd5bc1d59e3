import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";

/** A value that is written as it is, or as JSON when it is no text. */
export type FileContent = string | Uint8Array | object;

/** A place of its own for one test: home, agent folder, workspace, temporary folder. Removed when disposed. */
export class Sandbox {
  // Resolved, because the temporary folder of macOS is a link and rpi tells resolved paths.
  readonly dir = realpathSync(mkdtempSync(path.join(os.tmpdir(), "rpi-test-")));
  readonly home = path.join(this.dir, "home");
  readonly agentDir = path.join(this.home, ".pi", "agent");
  readonly cwd = path.join(this.dir, "work");
  readonly tmp = path.join(this.dir, "tmp");

  constructor() {
    for (const folder of [this.agentDir, this.cwd, this.tmp]) mkdirSync(folder, { recursive: true });
  }

  /** Nothing of the caller's environment but the search path, so that no key or proxy of this machine matters. */
  env(extra: Record<string, string | undefined> = {}): Record<string, string> {
    const base: Record<string, string | undefined> = {
      PATH: process.env["PATH"],
      HOME: this.home,
      USERPROFILE: this.home,
      PI_CODING_AGENT_DIR: this.agentDir,
      TMPDIR: this.tmp,
      LANG: "C.UTF-8",
      // By this, whatever a test leaves behind is found (and ended).
      RPI_TEST_SANDBOX: this.dir,
      ...(process.platform === "win32" && { SystemRoot: process.env["SystemRoot"], TEMP: this.tmp, TMP: this.tmp }),
    };
    return Object.fromEntries(Object.entries({ ...base, ...extra }).filter((pair): pair is [string, string] => pair[1] !== undefined));
  }

  /** Writes a file of the workspace; gives its path. */
  write(name: string, content: FileContent): string {
    return put(path.join(this.cwd, name), content);
  }

  /** Writes a file of the agent folder: `models.json`, `settings.json`, … */
  writeAgent(name: string, content: FileContent): string {
    return put(path.join(this.agentDir, name), content);
  }

  /** Writes a script for the built-in model, one inner list a model turn; gives its path. */
  writeScript(turns: object[][]): string {
    this.#scripts += 1;
    return put(path.join(this.dir, `script-${this.#scripts}.json`), { turns });
  }
  #scripts = 0;

  [Symbol.dispose](): void {
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

function put(file: string, content: FileContent): string {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, typeof content === "string" || content instanceof Uint8Array ? content : JSON.stringify(content, null, 2));
  return file;
}
