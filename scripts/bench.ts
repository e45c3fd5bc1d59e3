// npm run bench [-- <row> …]: what rpi costs, beside what it is measured against. PI_BIN="node …/cli.js" adds pi's numbers.
import { existsSync } from "node:fs";
import path from "node:path";
import pc from "picocolors";
import { childRows } from "./bench/child-rows.ts";
import type { Measured, Row } from "./bench/row.ts";
import { sessionRows } from "./bench/session-rows.ts";
import { Target } from "./bench/target.ts";
import { wireRows } from "./bench/wire-rows.ts";
import { ensureBuilt } from "./build.ts";

const rows = [...wireRows, ...childRows, ...sessionRows];
const names = process.argv.slice(2);
const unknown = names.filter((name) => !rows.some((row) => row.name === name));
if (unknown.length > 0) {
  console.error(`no such row: ${unknown.join(", ")}; there are ${rows.map((row) => row.name).join(", ")}`);
  process.exit(2);
}

await using rpi = await Target.make("rpi", [await ensureBuilt()]);
// It is started in another folder, so what is a file here is named in full.
const words = process.env["PI_BIN"]?.split(" ").filter(Boolean).map((word) => (existsSync(word) ? path.resolve(word) : word));
await using pi = words ? await Target.make("pi", words) : null;

let failed = 0;
for (const row of rows.filter(({ name }) => names.length === 0 || names.includes(name))) {
  const measured = await attempt(row, rpi);
  const others = pi && row.isForPi ? await attempt(row, pi) : [];
  for (const one of measured) print(row, one, others.find(({ what }) => what === one.what));
}
process.exitCode = failed > 0 ? 1 : 0;

async function attempt(row: Row, target: Target): Promise<Measured[]> {
  try {
    return await row.measure(target);
  } catch (error) {
    failed += target.name === "rpi" ? 1 : 0;
    console.log(`${row.name.padEnd(16)}${pc.red(`${target.name}: ${(error as Error).message}`)}`);
    return [];
  }
}

function print(row: Row, { what, value, unit, goal, note }: Measured, other: Measured | undefined): void {
  const columns = [
    (what.startsWith(" ") ? "" : row.name).padEnd(16),
    what.padEnd(66),
    format(value, unit).padStart(12),
    verdict(value, unit, goal).padEnd(22),
    other ? `pi ${format(other.value, other.unit)}`.padEnd(16) : "",
    note ? pc.dim(note) : "",
  ];
  console.log(columns.join("  ").trimEnd());
}

function format(value: number, unit: string): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`;
}

function verdict(value: number, unit: string, goal: number | undefined): string {
  if (goal === undefined) return "";
  const isMet = unit === "/s" ? value >= goal : value <= goal;
  return `${isMet ? "ok  " : "MISS"} goal ${unit === "/s" ? "≥" : "≤"} ${goal} ${unit}`;
}
