import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";

/**
 * Runs a fresh binary as a client starts it and records which functions that needs. Gives the path of the profile,
 * or nothing when the run left none: the profile only makes the start quicker.
 */
export async function recordProfile(binary: string): Promise<string | undefined> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "rpi-profile-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const profile = path.join(folder, "start.order");
  const child = Bun.spawn([binary, "rpc", "--model", "faux/faux-1"], {
    cwd: folder,
    env: { ...process.env, HOME: folder, USERPROFILE: folder, PI_CODING_AGENT_DIR: path.join(folder, "agent"), BUN_BYTECODE_ORDER_OUT: profile },
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
  });
  child.stdin.write('{"type":"get_state"}\n{"type":"prompt","message":"hello"}\n');
  await child.stdin.end();
  await child.exited;
  return existsSync(profile) && readFileSync(profile).length > 0 ? profile : undefined;
}
