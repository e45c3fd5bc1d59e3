import { constants, type Stats } from "node:fs";
import { access, type FileHandle, lstat, open, readlink, realpath, rename, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { randomHex } from "../base/random.ts";
import { kindOf, reasonOf, statOf } from "./path.ts";
import { ToolFailure } from "./tool.ts";

/** Reasons for which the file may still be written in its place although it cannot be replaced. */
const IN_PLACE = new Set(["EACCES", "EPERM", "EBUSY", "EXDEV", "ETXTBSY"]);

/**
 * Gives a file new content so that whoever reads it sees the old or the new one, whole: a temporary file
 * in the same folder is renamed over it. The mode is kept, and a symbolic link goes on pointing at the file
 * that is written. Where a rename would break something (hard links, an owner that is not ours, a folder
 * that takes no new files, a mounted file), the file is written in place.
 */
export async function replaceFile(path: string, data: string | Uint8Array): Promise<void> {
  const target = await linkTarget(path);
  const old = await statOf(target);
  if (old && !old.isFile()) throw new ToolFailure(`${path} is ${kindOf(old)}, not a file.`);
  try {
    // A file that may not be written must not be replaced either, although its folder would allow it.
    if (old) await access(target, constants.W_OK);
    if (old && old.nlink > 1) await writeInPlace(target, data);
    else await writeBeside(target, data, old);
  } catch (error) {
    throw error instanceof ToolFailure ? error : new ToolFailure(`Cannot write ${path}: ${reasonOf(error)}. Nothing was changed.`);
  }
}

async function writeBeside(target: string, data: string | Uint8Array, old: Stats | undefined): Promise<void> {
  const temporary = join(dirname(target), `.rpi-${randomHex(6)}.tmp`);
  let handle: FileHandle | undefined;
  try {
    handle = await open(temporary, "wx", old ? 0o600 : 0o666);
    await handle.writeFile(data);
    if (old) {
      const own = await handle.stat();
      if (own.uid !== old.uid || own.gid !== old.gid) await handle.chown(old.uid, old.gid);
      await handle.chmod(old.mode & 0o7777);
    }
    await handle.close();
    handle = undefined;
    await rename(temporary, target);
  } catch (error) {
    await handle?.close();
    await unlink(temporary).catch(() => {
      // It was never made, or it is the least of the troubles that `error` tells.
    });
    if (!old || !IN_PLACE.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    await writeInPlace(target, data);
  }
}

async function writeInPlace(target: string, data: string | Uint8Array): Promise<void> {
  const handle = await open(target, "r+");
  try {
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    let written = 0;
    while (written < bytes.length) written += (await handle.write(bytes, written, bytes.length - written, written)).bytesWritten;
    await handle.truncate(bytes.length);
  } catch (error) {
    throw new ToolFailure(`Writing ${target} failed half-way: ${reasonOf(error)}. It could not be replaced as a whole and may be damaged; look at it.`);
  } finally {
    await handle.close();
  }
}

/** Where a chain of links ends, even if nothing is there. */
async function linkTarget(path: string): Promise<string> {
  let target = path;
  for (let step = 0; step < 40; step++) {
    try {
      return await realpath(target);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw new ToolFailure(`Cannot write ${path}: ${reasonOf(error)}.`);
    }
    const stats = await lstat(target).catch(() => undefined);
    if (!stats?.isSymbolicLink()) return target;
    target = resolve(await realpath(dirname(target)), await readlink(target));
  }
  throw new ToolFailure(`Cannot write ${path}: its symbolic links go round in a circle.`);
}
