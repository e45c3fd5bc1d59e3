import path from "node:path";
import { Refusal } from "../base/refusal.ts";
import { countWords } from "../base/text.ts";
import { SESSION_VERSION, type SessionHeader } from "./entry.ts";
import { Journal } from "./journal.ts";
import type { SessionFile } from "./file.ts";
import { readLines } from "./lines.ts";
import { readFileName } from "./place.ts";
import { Assembly } from "./repair.ts";

/** Told to the client: what was repaired, skipped or could not be done while opening. */
export interface Notice {
  level: "info" | "warning";
  code: string;
  message: string;
}

/** Reads a session file, in bounded memory. Throws Refusal `invalid` for what is none, and closes it. */
export async function load(opened: SessionFile): Promise<{ journal: Journal; notices: Notice[] }> {
  try {
    return await read(opened);
  } catch (error) {
    opened.close();
    throw error;
  }
}

async function read(opened: SessionFile): Promise<{ journal: Journal; notices: Notice[] }> {
  const file = opened.path;
  const assembly = new Assembly();
  /** Offsets of damaged lines. */
  const bad: number[] = [];
  let tornBytes = 0;
  await readLines(opened.fd, {
    value(value, at, length) {
      if (!assembly.take(value, at, length)) bad.push(at);
    },
    bad(at, length, isLast) {
      if (isLast) tornBytes = length;
      else bad.push(at);
    },
  });
  const notices: Notice[] = [];
  const header = assembly.header ?? headerFromName(file, assembly, notices);
  if (!header) throw new Refusal("invalid", `${file} is not a session file: it has no session header`);
  assembly.finish();
  tellDamage(notices, file, bad, tornBytes);
  tellRepairs(notices, file, assembly);
  const version = typeof header.version === "number" ? header.version : 1;
  if (version > SESSION_VERSION) notices.push({ level: "warning", code: "session_newer", message: `${file} is of version ${version}, newer than this program knows: what it does not know is kept and ignored` });
  return { journal: new Journal(asOurs(header), file, assembly.entries, assembly.ledger, version, opened), notices };
}

/** What cannot be done with a session that was opened to go on with it. */
export function tellLimits({ path: file, isWritable, isLocked }: SessionFile): Notice[] {
  if (!isWritable) return [{ level: "warning", code: "session_read_only", message: `${file} may only be read: nothing new can be stored in it` }];
  if (!isLocked) return [{ level: "warning", code: "session_unlocked", message: `${file} could not be locked on this file system: nothing keeps a second process from writing it` }];
  return [];
}

function asOurs(header: SessionHeader): SessionHeader {
  const { id, timestamp, cwd, parentSession } = header;
  const ours: SessionHeader = { type: "session", version: SESSION_VERSION, id, timestamp: isTime(timestamp) ? timestamp : new Date(0).toISOString(), cwd: typeof cwd === "string" ? cwd : "" };
  return typeof parentSession === "string" ? { ...ours, parentSession } : ours;
}

const isTime = (value: unknown): boolean => typeof value === "string" && !Number.isNaN(Date.parse(value));

/** A session whose header line is damaged: its file name says the id and the time, and nothing says its folder. */
function headerFromName(file: string, { entries }: Assembly, notices: Notice[]): SessionHeader | undefined {
  const told = readFileName(path.basename(file));
  if (!told || entries.nodes.length === 0) return undefined;
  notices.push({ level: "warning", code: "session_header", message: `The header of ${file} is damaged: id and time were taken from the file's name, its working directory is unknown` });
  return { type: "session", version: SESSION_VERSION, id: told.id, timestamp: told.createdAt, cwd: "" };
}

function tellDamage(notices: Notice[], file: string, bad: number[], tornBytes: number): void {
  if (bad.length > 0) {
    const places = bad.slice(0, 5).join(", ") + (bad.length > 5 ? ", …" : "");
    notices.push({ level: "warning", code: "session_bad_lines", message: `${bad.length === 1 ? "1 damaged line was" : `${bad.length} damaged lines were`} skipped in ${file} (at byte ${places})` });
  }
  if (tornBytes > 0) notices.push({ level: "warning", code: "session_torn_line", message: `The last line of ${file} is incomplete (${tornBytes} bytes) and was set aside` });
}

function tellRepairs(notices: Notice[], file: string, { duplicates, missingParents, cycles }: Assembly): void {
  const repairs: string[] = [];
  if (duplicates > 0) repairs.push(`${countWords(duplicates, "entry", "entries")} had the id of an earlier one and got a fresh one`);
  if (missingParents > 0) repairs.push(`${countWords(missingParents, "entry", "entries")} named a parent that is not there and begin a branch of their own`);
  if (cycles > 0) repairs.push(`${cycles === 1 ? "a cycle was" : `${cycles} cycles were`} cut`);
  if (repairs.length > 0) notices.push({ level: "warning", code: "session_repaired", message: `${file} was repaired in memory: ${repairs.join("; ")}. The file itself was not changed` });
}
