import fs from "../base/lazy-fs.ts";
import path from "node:path";
import { Refusal } from "../base/refusal.ts";

/**
 * The folder to work in (`-C`, else the current one), absolute and, as the system tells the current one, without
 * links, so that its sessions are the same either way. Throws Refusal when it is not there.
 */
export function workingFolder(named: string | undefined): string {
  let here: string;
  try {
    here = process.cwd();
  } catch {
    throw new Refusal("unavailable", "The current folder does not exist any more; start rpi in another one, or name one with -C");
  }
  if (named === undefined) return here;
  const folder = path.resolve(here, named);
  if (!fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw new Refusal("not_found", `-C ${named}: there is no such folder`);
  return fs.realpathSync(folder);
}
