import { existsSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";

/**
 * Runs a fresh binary as a client starts it and records which functions that needs. `use` is given the profile,
 * or nothing when the run left none: it only makes the start quicker.
 */
export async function withProfile(binary: string, use: (profile: string | undefined) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "rpi-profile-"));
  try {
    const profile = path.join(folder, "start.order");
    await converse(binary, folder, { BUN_BYTECODE_ORDER_OUT: profile });
    await use(existsSync(profile) ? profile : undefined);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function converse(binary: string, folder: string, env: Record<string, string>): Promise<void> {
  const child = Bun.spawn([binary, "rpc", "--model", "faux/faux-1"], {
    cwd: folder,
    env: { ...process.env, HOME: folder, USERPROFILE: folder, PI_CODING_AGENT_DIR: path.join(folder, "agent"), ...env },
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
    // A binary that hangs must not make the build hang.
    timeout: 10_000,
  });
  child.stdin.write('{"type":"get_state"}\n{"type":"prompt","message":"hello"}\n');
  await child.stdin.end();
  await child.exited;
}
