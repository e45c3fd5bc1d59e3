import fs from "./lazy-fs.ts";

/** A reader of stderr that stalls may cost diagnostics, never memory. */
const MAX_WAITING = 256 * 1024;

let sink: Bun.FileSink | undefined;
let dead = false;
let waiting = 0;
let flushing: Promise<unknown> | undefined;

/**
 * Writes one line of diagnostics to stderr. Never throws and never blocks: once stderr is closed, or
 * while its reader is far behind, lines are dropped.
 */
export function log(message: string): void {
  if (dead || waiting > MAX_WAITING) return;
  const line = `${message}\n`;
  try {
    sink ??= Bun.stderr.writer();
    sink.write(line);
    const flushed = sink.flush();
    if (!(flushed instanceof Promise)) return;
    waiting += line.length;
    flushing = flushed.then(
      () => { waiting = 0; },
      () => { dead = true; },
    );
  } catch {
    // A dead stderr has nobody left to be told.
    dead = true;
  }
}

/** Logs an error that is a bug of ours, with its stack. */
export function logBug(where: string, error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  log(`rpi: a bug in ${where}: ${text}`);
}

/** Waits until what was logged is written, at most `ms`. */
export async function flushLog(ms: number): Promise<void> {
  if (!flushing || dead) return;
  await Promise.race([flushing, Bun.sleep(ms)]);
}

/** Writes at once and in full before it returns; only for the way out, where blocking is right. */
export function logAndBlock(message: string): void {
  try {
    fs.writeSync(2, `${message}\n`);
  } catch {
    // stderr is closed or full: the exit code has to say it.
  }
}
