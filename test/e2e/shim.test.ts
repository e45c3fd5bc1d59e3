import { expect, test } from "bun:test";
import path from "node:path";
import { LineReader } from "../support/line-reader.ts";
import { leftovers } from "../support/leftovers.ts";
import { binary } from "../support/rpi.ts";
import { Sandbox } from "../support/sandbox.ts";
import { until } from "../support/until.ts";

const shim = path.join(import.meta.dir, "../../scripts/rpi.mjs");
const node = Bun.which("node");

/** The package's `bin`, started as npm does. */
async function launch(sandbox: Sandbox, ...args: string[]) {
  await binary();
  return Bun.spawn([node!, shim, ...args], { cwd: sandbox.cwd, env: sandbox.env(), stdin: "pipe", stdout: "pipe", stderr: "pipe" });
}

async function launchAndWait(sandbox: Sandbox) {
  const child = await launch(sandbox, "rpc", "--model", "faux/faux-1");
  const first = Promise.withResolvers<string>();
  const reader = new LineReader(child.stdout, (line) => first.resolve(Buffer.from(line).toString()));
  expect(JSON.parse(await first.promise)).toMatchObject({ type: "session_started" });
  return { child, reader };
}

test.skipIf(!node)("the Node shim passes the end of input and the exit code on", async () => {
  using sandbox = new Sandbox();
  const { child } = await launchAndWait(sandbox);
  child.stdin.end();
  expect(await child.exited).toBe(0);

  const wrong = await launch(sandbox, "rpc", "--there-is-no-such-flag");
  expect(await wrong.exited).toBe(2);
  expect(await wrong.stdout.text()).toBe("");
  expect(await wrong.stderr.text()).toContain("--there-is-no-such-flag");
});

for (const [signal, code] of [["SIGTERM", 143], ["SIGINT", 130], ["SIGHUP", 129]] as const) {
  test.skipIf(!node || process.platform === "win32")(`the Node shim passes ${signal} on`, async () => {
    using sandbox = new Sandbox();
    const { child } = await launchAndWait(sandbox);
    child.kill(signal);
    expect(await child.exited).toBe(code);
    expect(leftovers(sandbox.dir)).toEqual([]);
  });
}

test.skipIf(!node || process.platform !== "linux")("the Node shim ends by the signal that its rpi ended by", async () => {
  using sandbox = new Sandbox();
  const { child } = await launchAndWait(sandbox);
  const rpi = await until(() => leftovers(sandbox.dir).find(({ command }) => command.startsWith(path.dirname(path.dirname(shim))) && !command.includes("rpi.mjs")), "the binary's process");
  process.kill(rpi.pid, "SIGKILL");
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
});
