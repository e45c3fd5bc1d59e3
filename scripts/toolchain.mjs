// What a fresh clone lacks: the packages of the lockfile and a Bun to run the scripts with.
// Plain Node without dependencies, because it runs before there are any.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const modules = path.join(root, "node_modules");
const lockfile = path.join(root, "package-lock.json");
const stampFile = path.join(modules, ".rpi-setup.json");
// Not inside node_modules, which `npm ci` empties.
const claimFile = path.join(root, ".setup-claim");
const exe = process.platform === "win32" ? ".exe" : "";

/** Installs what is missing and gives the path of a Bun that runs here. Says on stderr what takes time. */
export async function prepare() {
  const lockText = fs.readFileSync(lockfile, "utf8");
  const lockHash = createHash("sha256").update(lockText).digest("hex");
  const stamped = () => {
    const stamp = readJson(stampFile);
    return stamp?.lockHash === lockHash && fs.existsSync(stamp.bun) ? stamp.bun : undefined;
  };
  const known = stamped();
  if (known) return known;

  const release = await claim();
  try {
    return stamped() ?? setUp(JSON.parse(lockText), lockHash);
  } finally {
    release();
  }
}

function setUp(lock, lockHash) {
  // Whoever installed them (npm, bun), packages of the right versions are left as they are.
  let bun = isInstalled(lock) ? findBun(lock) : undefined;
  if (!bun) {
    install();
    bun = findBun(lock) ?? foreignBun();
  }
  if (!bun) throw new Error(`no Bun that runs on ${process.platform} ${process.arch} came with the packages; install Bun ${bunVersion(lock)} (https://bun.com) and try again`);
  fs.writeFileSync(stampFile, JSON.stringify({ lockHash, bun }));
  return bun;
}

function isInstalled(lock) {
  return Object.entries(lock.packages).every(
    ([folder, entry]) => folder === "" || entry.optional || entry.devOptional || readJson(path.join(root, folder, "package.json"))?.version === entry.version,
  );
}

const bunVersion = (lock) => lock.packages["node_modules/bun"].version;

/**
 * Bun's npm package gets its binary from an install script; where scripts do not run it holds a stub,
 * and the binary lies in the package of the platform.
 */
function findBun(lock) {
  const scope = path.join(modules, "@oven");
  const platforms = fs.existsSync(scope) ? fs.readdirSync(scope).filter((name) => name.startsWith("bun-")) : [];
  const candidates = [path.join(modules, "bun", "bin", "bun.exe"), ...platforms.map((name) => path.join(scope, name, "bin", `bun${exe}`))];
  return candidates.find((file) => isBinary(file) && versionOf(file) === bunVersion(lock));
}

/** A Bun that is installed on the machine, for systems on which the one from npm does not start (NixOS, for one). */
function foreignBun() {
  const folders = (process.env.PATH ?? "").split(path.delimiter).filter((folder) => folder && !folder.includes("node_modules"));
  const candidates = process.versions.bun ? [process.execPath] : folders.map((folder) => path.join(folder, `bun${exe}`));
  const found = candidates.find((file) => isBinary(file) && versionOf(file));
  if (found) tell(`the Bun from npm does not run here; using ${found} (${versionOf(found)})`);
  return found;
}

/** The stub is a few hundred bytes of text. */
function isBinary(file) {
  return fs.existsSync(file) && fs.statSync(file).size > 1_000_000;
}

function versionOf(file) {
  const { stdout } = spawnSync(file, ["--version"], { encoding: "utf8" });
  return stdout?.trim();
}

function install() {
  tell("installing the packages (once)");
  // Development and optional packages hold the toolchain, so no NODE_ENV and no outer npm may leave them out.
  const flags = ["--include=dev", "--include=optional", "--no-audit", "--no-fund", "--no-update-notifier"];
  // Several packages name a newer Node than ours in their engines; they are run by Bun, so that is no warning for anybody.
  flags.push("--loglevel=error");
  const npm = findNpm();
  if (!npm) {
    if (!process.versions.bun) throw new Error("npm was not found; it comes with Node.js");
    if (!succeeds([process.execPath, "install", "--no-save"])) throw new Error("`bun install` failed");
    return;
  }
  if (succeeds([...npm, "ci", ...flags])) return;
  tell("`npm ci` failed, trying `npm install`");
  if (!succeeds([...npm, "install", "--no-save", ...flags])) throw new Error("`npm install` failed; what it said stands above");
}

/** npm as the words that start it: its script for this Node where that can be found, so that no shell is needed on Windows. */
function findNpm() {
  const given = process.env.npm_execpath;
  const beside = path.dirname(process.execPath);
  const scripts = [
    ...(given && path.basename(given) === "npm-cli.js" ? [given] : []),
    path.join(beside, "node_modules", "npm", "bin", "npm-cli.js"),
    path.join(beside, "..", "lib", "node_modules", "npm", "bin", "npm-cli.js"),
  ];
  const script = process.versions.bun ? undefined : scripts.find((file) => fs.existsSync(file));
  if (script) return [process.execPath, script];
  return spawnSync("npm", ["--version"], { shell: process.platform === "win32" }).status === 0 ? ["npm"] : undefined;
}

function succeeds([command, ...args]) {
  const shell = process.platform === "win32" && command === "npm";
  // Its words go to stderr: stdout belongs to the program that is started afterwards.
  return spawnSync(command, args, { cwd: root, env: cleanEnv(), stdio: ["ignore", 2, 2], shell }).status === 0;
}

/** Without the settings of an outer `npm run` that would send this install elsewhere or make it a partial one. */
function cleanEnv() {
  const misleading = /^npm_config_(global|location|prefix|local_prefix|dry_run|omit|only|production|workspaces?|package_lock.*|json)$/i;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !misleading.test(name) && name !== "NODE_ENV"));
}

/** Keeps a second set-up in this folder waiting. Gives the function that ends the claim. */
async function claim() {
  for (let isTold = false; ; ) {
    try {
      fs.writeFileSync(claimFile, String(process.pid), { flag: "wx" });
      return () => fs.rmSync(claimFile, { force: true });
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    if (isAbandoned()) {
      // By its old name a waiting process could remove the claim that another has just made.
      const grave = `${claimFile}-${process.pid}`;
      try {
        fs.renameSync(claimFile, grave);
        fs.rmSync(grave, { force: true });
      } catch (error) {
        if (error.code !== "ENOENT") throw error;
      }
      continue;
    }
    if (!isTold) tell("waiting for another set-up in this folder");
    isTold = true;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function isAbandoned() {
  try {
    const owner = Number(fs.readFileSync(claimFile, "utf8"));
    // Made, and not yet filled.
    if (!owner) return Date.now() - fs.statSync(claimFile).mtimeMs > 5_000;
    process.kill(owner, 0);
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
}

/** Runs a program in the place of this one: its streams, its signals, its exit code. */
export function become(file, args) {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  const child = spawn(file, args, { stdio: "inherit" });
  const forward = (signal) => child.kill(signal);
  for (const signal of signals) process.on(signal, forward);
  child.on("error", (error) => {
    tell(`${file} could not be started: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    for (const name of signals) process.off(name, forward);
    process.kill(process.pid, signal);
  });
}

function readJson(file) {
  try {
    return JSON.parse(fs.readFileSync(file, "utf8"));
  } catch {
    // Missing or half written: either way it tells nothing.
    return undefined;
  }
}

function tell(message) {
  fs.writeSync(2, `rpi: ${message}\n`);
}

/** Runs the main part of a script, with a failure told in one line. */
export async function main(run) {
  try {
    await run();
  } catch (error) {
    tell(error.message);
    process.exit(1);
  }
}
