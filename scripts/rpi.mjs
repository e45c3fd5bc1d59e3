#!/usr/bin/env node
// The package's `bin`: rpi for clients that start a Node script. Builds the binary when there is none yet.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { become, main, prepare, root } from "./toolchain.mjs";

const binary = path.join(root, "dist", process.platform === "win32" ? "rpi.exe" : "rpi");

await main(async () => {
  if (!fs.existsSync(binary)) await build();
  become(binary, process.argv.slice(2));
});

async function build() {
  const bun = await prepare();
  // stdout carries the protocol, so nothing of the build may reach it.
  const { status } = spawnSync(bun, [path.join(root, "scripts", "build.ts")], { cwd: root, stdio: ["ignore", 2, 2] });
  if (status !== 0) throw new Error("the binary could not be built; what went wrong stands above");
}
