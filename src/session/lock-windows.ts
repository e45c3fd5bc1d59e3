import fs from "../base/lazy-fs.ts";
import type { Claim } from "./claim.ts";

const GENERIC_WRITE = 0x40000000;
const FILE_SHARE_READ_DELETE = 1 | 4;
const CREATE_ALWAYS = 2;
const FILE_FLAG_DELETE_ON_CLOSE = 0x04000000;
const ERROR_SHARING_VIOLATION = 32;

/**
 * Windows: a file beside the session's, opened so that nobody else can open it for writing, and deleted by the
 * system when its handle closes, be it by a kill. Inside stands the owner's process id.
 */
export function claimOnWindows(file: string): Claim {
  const { dlopen, ptr } = require("bun:ffi") as typeof import("bun:ffi");
  const { symbols } = dlopen("kernel32.dll", {
    CreateFileW: { args: ["ptr", "u32", "u32", "ptr", "u32", "u32", "ptr"], returns: "i64" },
    WriteFile: { args: ["i64", "ptr", "u32", "ptr", "ptr"], returns: "i32" },
    CloseHandle: { args: ["i64"], returns: "i32" },
    GetLastError: { args: [], returns: "u32" },
  });
  const lock = `${file}.lock`;
  const name = Buffer.from(`${lock}\0`, "utf16le");
  const handle = symbols.CreateFileW(ptr(name), GENERIC_WRITE, FILE_SHARE_READ_DELETE, null, CREATE_ALWAYS, FILE_FLAG_DELETE_ON_CLOSE, null);
  if (handle === -1n) return symbols.GetLastError() === ERROR_SHARING_VIOLATION ? { owner: ownerIn(lock) } : "impossible";
  const owner = Buffer.from(String(process.pid));
  symbols.WriteFile(handle, ptr(owner), owner.length, ptr(Buffer.alloc(4)), null);
  return { release: () => void symbols.CloseHandle(handle) };
}

function ownerIn(lock: string): number | undefined {
  try {
    return Number(fs.readFileSync(lock, "utf8")) || undefined;
  } catch {
    return undefined; // It has just ended.
  }
}
