// npm run check: types, the direction of imports, generated files.
import path from "node:path";
import { generatedFaults } from "./generated.ts";
import { importFaults } from "./imports.ts";

const root = path.dirname(import.meta.dir);

const checks: Record<string, () => string[] | Promise<string[]>> = {
  types: typeFaults,
  imports: () => importFaults(path.join(root, "src")),
  "generated files": () => generatedFaults(root),
};

let isClean = true;
for (const [name, check] of Object.entries(checks)) {
  const faults = await check();
  console.log(`${faults.length === 0 ? "ok  " : "FAIL"} ${name}`);
  for (const fault of faults) console.log(`     ${fault}`);
  isClean &&= faults.length === 0;
}
process.exit(isClean ? 0 : 1);

async function typeFaults(): Promise<string[]> {
  const tsc = Bun.spawn([process.execPath, path.join(root, "node_modules/typescript/bin/tsc"), "-p", root, "--pretty", "false"], { cwd: root, stdout: "pipe", stderr: "pipe" });
  const [out, err, code] = await Promise.all([tsc.stdout.text(), tsc.stderr.text(), tsc.exited]);
  if (code === 0) return [];
  return `${out}\n${err}`.split("\n").filter((line) => line.trim() !== "");
}
