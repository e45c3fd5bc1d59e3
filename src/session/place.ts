import path from "node:path";
import { Refusal } from "../base/refusal.ts";

/** File systems take names of 255 bytes; the dashes around it are four. */
const MAX_NAME_BYTES = 251;

/** The folder of a working directory's sessions, below `<agentDir>/sessions`. `cwd` is absolute. */
export function folderName(cwd: string): string {
  const name = cwd.replace(/^[/\\]/, "").replace(/[/\\:]/g, "-");
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return `--${name}--`;
  // pi has no folder for such a one.
  const hash = new Bun.CryptoHasher("sha256").update(cwd).digest("hex").slice(0, 16);
  return `--${Buffer.from(name).toString("utf8", 0, MAX_NAME_BYTES - 24).replace(/\uFFFD+$/, "")}-${hash}--`;
}

/** Where sessions of `cwd` stand by default. */
export function sessionFolder(agentDir: string, cwd: string): string {
  return path.join(agentDir, "sessions", folderName(cwd));
}

/** The name of a session's file; `createdAt` is ISO 8601. */
export function fileName(createdAt: string, id: string): string {
  return `${createdAt.replace(/[:.]/g, "-")}_${id}.jsonl`;
}

/** What the name of a session's file says, as `fileName` makes it; undefined for one that is named otherwise. */
export function readFileName(name: string): { createdAt: string; id: string } | undefined {
  const [, date, time, ms, id] = /^(\d{4}-\d\d-\d\d)T(\d\d-\d\d-\d\d)-(\d+)Z_(.+)\.jsonl$/.exec(name) ?? [];
  return id === undefined ? undefined : { createdAt: `${date}T${time!.replaceAll("-", ":")}.${ms}Z`, id };
}

/** Refuses ids that could not be part of a file name (the rule is pi's). */
export function checkSessionId(id: string): void {
  if (!/^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(id)) {
    throw new Refusal("invalid", `Session id ${JSON.stringify(id)} must consist of letters, digits, "-", "_" and ".", and begin and end with a letter or digit`);
  }
  if (id.length > 128) throw new Refusal("invalid", "Session id must not be longer than 128 characters");
}
