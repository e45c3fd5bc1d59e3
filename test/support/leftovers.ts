import { readdirSync, readFileSync } from "node:fs";

/** Processes of a sandbox that still run, by the mark that it leaves in their environment. Linux only; elsewhere none are found. */
export function leftovers(sandboxDir: string): { pid: number; command: string }[] {
  if (process.platform !== "linux") return [];
  const mark = `RPI_TEST_SANDBOX=${sandboxDir}`;
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => read(`/proc/${pid}/environ`).split("\0").includes(mark) && !/^State:\s+Z/m.test(read(`/proc/${pid}/status`)))
    .map((pid) => ({ pid: Number(pid), command: read(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim() }));
}

/** Resident memory of a process now and at its highest, in bytes. Linux only. */
export function memoryOf(pid: number): { rssBytes: number; peakBytes: number } {
  const status = read(`/proc/${pid}/status`);
  const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? Number.NaN) * 1024;
  return { rssBytes: bytes("VmRSS"), peakBytes: bytes("VmHWM") };
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // It ended while we looked, or belongs to somebody else.
    return "";
  }
}
