// npm test [-- <bun test arguments>]: builds, runs the tests and ends with `N passed, N failed`.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { ensureBuilt, root } from "./build.ts";

await ensureBuilt();

const folder = mkdtempSync(path.join(os.tmpdir(), "rpi-test-"));
const report = path.join(folder, "report.xml");
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

const tests = Bun.spawn([process.execPath, "test", "--timeout", "30000", "--reporter=junit", `--reporter-outfile=${report}`, ...process.argv.slice(2)], {
  cwd: root,
  stdin: "ignore",
  stdout: "inherit",
  stderr: "inherit",
  // The runner ends a test that waits too long, but not one that never yields.
  timeout: 8 * 60_000,
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => tests.kill(signal));
const code = await tests.exited;

const { passed, failed } = totals();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);

/** From the runner's own report; a runner that failed without naming a test counts as one that did. */
function totals(): { passed: number; failed: number } {
  const head = /<testsuites\b[^>]*>/.exec(read(report))?.[0] ?? "";
  const count = (name: string) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
  const failed = count("failures") + count("errors");
  return { passed: Math.max(0, count("tests") - failed - count("skipped")), failed: failed === 0 && code !== 0 ? 1 : failed };
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // A runner that crashed left none: the exit code tells.
    return "";
  }
}
