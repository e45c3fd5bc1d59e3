import { createHash } from "node:crypto";
import { closeSync, mkdirSync, openSync, readFileSync, readSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { compile, ensureBuilt, root } from "./build.ts";
import { withProfile } from "./profile.ts";

interface Release {
  target: Bun.Build.CompileTarget;
  file: string;
  format: "ELF" | "Mach-O" | "PE";
  machine: "x64" | "arm64";
}

export const RELEASES: readonly Release[] = [
  { target: "bun-linux-x64", file: "rpi-linux-x64", format: "ELF", machine: "x64" },
  { target: "bun-linux-x64-baseline", file: "rpi-linux-x64-baseline", format: "ELF", machine: "x64" },
  { target: "bun-linux-arm64", file: "rpi-linux-arm64", format: "ELF", machine: "arm64" },
  { target: "bun-linux-x64-musl", file: "rpi-linux-x64-musl", format: "ELF", machine: "x64" },
  { target: "bun-linux-x64-baseline-musl", file: "rpi-linux-x64-baseline-musl", format: "ELF", machine: "x64" },
  { target: "bun-linux-arm64-musl", file: "rpi-linux-arm64-musl", format: "ELF", machine: "arm64" },
  { target: "bun-darwin-x64", file: "rpi-macos-x64", format: "Mach-O", machine: "x64" },
  { target: "bun-darwin-arm64", file: "rpi-macos-arm64", format: "Mach-O", machine: "arm64" },
  { target: "bun-windows-x64", file: "rpi-windows-x64.exe", format: "PE", machine: "x64" },
];

/** Compiles dist/release for every platform, with SHA256SUMS beside them. */
export async function buildReleases(): Promise<void> {
  const folder = path.join(root, "dist", "release");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  // Functions are told by their syntax, so the profile of this machine's binary serves every platform.
  const sums: string[] = [];
  await withProfile(await ensureBuilt(), async (bytecodeOrder) => {
    for (const { target, file, format, machine } of RELEASES) {
      const outfile = path.join(folder, file);
      await compile({ outfile, target, ...(bytecodeOrder && { bytecodeOrder }) });
      const found = formatOf(outfile);
      if (found !== `${format} ${machine}`) throw new Error(`${file} should be ${format} ${machine}, and is ${found}`);
      sums.push(`${createHash("sha256").update(readFileSync(outfile)).digest("hex")}  ${file}`);
      console.log(`${path.relative(process.cwd(), outfile)}  ${(statSync(outfile).size / 2 ** 20).toFixed(0)} MB  ${found}`);
    }
  });
  writeFileSync(path.join(folder, "SHA256SUMS"), `${sums.join("\n")}\n`);
}

/** What an executable says of itself in its first bytes. */
export function formatOf(file: string): string {
  const head = Buffer.alloc(4096);
  const fd = openSync(file, "r");
  readSync(fd, head);
  closeSync(fd);
  if (head.toString("latin1", 0, 4) === "\x7fELF") return `ELF ${machineOf(head.readUInt16LE(18), { 0x3e: "x64", 0xb7: "arm64" })}`;
  if (head.readUInt32LE(0) === 0xfeedfacf) return `Mach-O ${machineOf(head.readUInt32LE(4), { 0x1000007: "x64", 0x100000c: "arm64" })}`;
  if (head.toString("latin1", 0, 2) === "MZ") return `PE ${machineOf(head.readUInt16LE(head.readUInt32LE(0x3c) + 4), { 0x8664: "x64", 0xaa64: "arm64" })}`;
  return "of no known format";
}

const machineOf = (code: number, names: Record<number, string>) => names[code] ?? `machine 0x${code.toString(16)}`;
