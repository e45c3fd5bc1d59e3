// npm run build [-- --force | --all]: dist/rpi for this machine; with --all, dist/release for every platform.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { withProfile } from "./profile.ts";

export const root = path.dirname(import.meta.dir);
const dist = path.join(root, "dist");
export const binary = path.join(dist, process.platform === "win32" ? "rpi.exe" : "rpi");
const stampFile = path.join(dist, ".build.json");

export interface CompileOptions {
  entry?: string;
  outfile: string;
  target?: Bun.Build.CompileTarget;
  /** A profile of which functions the start needs; they are laid out first. */
  bytecodeOrder?: string;
}

/** Compiles one binary. The file appears whole or not at all. */
export async function compile({ entry = path.join(root, "src/main.ts"), outfile, target, bytecodeOrder }: CompileOptions): Promise<void> {
  // Of its own, because the compiler leaves the source maps that it has put into the binary beside it as well.
  const workshop = path.join(path.dirname(outfile), `.${path.basename(outfile)}-${process.pid}`);
  const unfinished = path.join(workshop, path.basename(outfile));
  mkdirSync(workshop, { recursive: true });
  try {
    await Bun.build({
      entrypoints: [entry],
      format: "esm",
      minify: true,
      bytecode: true,
      // Without splitting everything would be parsed at start, lazy imports too.
      splitting: true,
      // They are not read before the first stack trace, which without them names nothing.
      sourcemap: "linked",
      compile: {
        ...(target && { target }),
        ...(bytecodeOrder && { bytecodeOrder }),
        outfile: unfinished,
        // Certificates of a company's proxy are found in the system's store.
        execArgv: ["--use-system-ca"],
        // Else a checkout could bring keys, base URLs or code into the binary that is started in it.
        autoloadDotenv: false,
        autoloadBunfig: false,
      },
    });
    renameSync(unfinished, outfile);
  } finally {
    rmSync(workshop, { recursive: true, force: true });
  }
}

/** dist/rpi, compiled again when anything it is made of has changed. Gives its path. */
export async function ensureBuilt({ force = false } = {}): Promise<string> {
  const sources = hashOfSources();
  if (!force && isUpToDate(sources)) return binary;
  await compile({ outfile: binary });
  await withProfile(binary, async (bytecodeOrder) => {
    if (bytecodeOrder) await compile({ outfile: binary, bytecodeOrder });
  });
  writeFileSync(stampFile, JSON.stringify({ sources, binary: identity(binary) }));
  return binary;
}

function isUpToDate(sources: string): boolean {
  if (!existsSync(binary) || !existsSync(stampFile)) return false;
  const stamp = JSON.parse(readFileSync(stampFile, "utf8"));
  return stamp.sources === sources && stamp.binary === identity(binary);
}

/** Tells a binary from one that another build has put in its place. */
function identity(file: string): string {
  const { ino, size, mtimeMs } = statSync(file);
  return `${ino}-${size}-${mtimeMs}`;
}

function hashOfSources(): string {
  const hash = createHash("sha256").update(Bun.version);
  const sources = readdirSync(path.join(root, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)));
  for (const name of [...sources.sort(), "package.json", "package-lock.json", "tsconfig.json", "scripts/build.ts", "scripts/profile.ts"]) {
    hash.update(`\0${name}\0`).update(readFileSync(path.join(root, name)));
  }
  return hash.digest("hex");
}

if (import.meta.main) {
  const started = performance.now();
  if (process.argv.includes("--all")) {
    const { buildReleases } = await import("./release.ts");
    await buildReleases();
  } else {
    const file = await ensureBuilt({ force: process.argv.includes("--force") });
    console.log(`${path.relative(process.cwd(), file)}  ${(statSync(file).size / 2 ** 20).toFixed(0)} MB  ${((performance.now() - started) / 1000).toFixed(1)} s`);
  }
}
