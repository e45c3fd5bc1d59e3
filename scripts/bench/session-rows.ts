// Rows of sessions: many entries, big entries, many turns.
import { closeSync, openSync, writeSync } from "node:fs";
import path from "node:path";
import type { FauxStep } from "../../test/support/rpi.ts";
import { MB, median, type Row, timeMs } from "./row.ts";
import type { Target } from "./target.ts";

export const sessionRows: Row[] = [
  {
    name: "session",
    isForPi: true,
    async measure(target) {
      const file = writeSession(target, { name: "many", count: 50_000, entryBytes: 480 });
      await using client = await target.ready();
      const switchMs = await timeMs(() => client.ask({ type: "switch_session", sessionPath: file }));
      const entriesMs = await timeMs(() => client.ask({ type: "get_entries" }));
      const promptMs = await timeMs(() => client.prompt("hello"));
      return [
        { what: "a session of 50 000 entries (24 MB): switch to it", value: switchMs, unit: "ms", goal: 150 },
        { what: "  get_entries", value: entriesMs, unit: "ms", goal: 200 },
        { what: "  one prompt to its end", value: promptMs, unit: "ms", goal: 300 },
        { what: "  memory at its highest", value: client.memory().peakBytes / MB, unit: "MB", goal: 160 },
      ];
    },
  },
  {
    name: "huge-session",
    isForPi: true,
    async measure(target) {
      const file = writeSession(target, { name: "huge", count: 60, entryBytes: 5_000_000 });
      await using client = await target.ready();
      const ms = await timeMs(() => client.ask({ type: "switch_session", sessionPath: file }));
      return [
        { what: "a session of 300 MB with 5 MB entries: switch to it", value: ms / 1000, unit: "s", goal: 5 },
        { what: "  memory at its highest", value: client.memory().peakBytes / MB, unit: "MB", goal: 600 },
      ];
    },
  },
  {
    name: "turns",
    isForPi: false,
    async measure(target) {
      const call = { toolCall: { name: "read", arguments: { path: "note.txt" } } };
      const turns: FauxStep[][] = Array.from({ length: 200 }, (_, n) => [{ text: `Turn ${n}.` }, call, call]);
      target.sandbox.write("note.txt", "something to read\n".repeat(20));
      await using client = await target.ready("--faux-script", target.sandbox.writeScript([...turns, [{ text: "Done." }]]));
      await client.ask({ type: "set_model", provider: "faux", modelId: "faux-1" });
      const ends = client.watch('"type":"turn_end"');
      await client.prompt("Read it, many times.");
      const times = ends.slice(1).map((at, turn) => at - ends[turn]!);
      const [early, late] = [median(times.slice(0, 40)), median(times.slice(-40))];
      return [{ what: "200 turns, 400 calls: a late turn against an early one", value: late / early, unit: "×", note: `${early.toFixed(2)} ms and ${late.toFixed(2)} ms` }];
    },
  },
];

/** A session file of user and assistant messages in turn; gives its path. */
function writeSession(target: Target, { name, count, entryBytes }: { name: string; count: number; entryBytes: number }): string {
  const file = path.join(target.sandbox.dir, `${name}.jsonl`);
  const fd = openSync(file, "w");
  const timestamp = new Date().toISOString();
  const id = (n: number) => n.toString(16).padStart(8, "0");
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
  const line = (n: number, text: string) => {
    const content = [{ type: "text", text }];
    const message =
      n % 2 === 0
        ? { role: "user", content, timestamp: 1 }
        : { role: "assistant", content, api: "openai-completions", provider: "bench", model: "bench-1", usage, stopReason: "stop", timestamp: 1 };
    return JSON.stringify({ type: "message", id: id(n), parentId: n === 0 ? null : id(n - 1), timestamp, message });
  };
  writeSync(fd, `${JSON.stringify({ type: "session", version: 3, id: crypto.randomUUID(), timestamp, cwd: target.sandbox.cwd })}\n`);
  for (let n = 0; n < count; n += 1) writeSync(fd, `${line(n, "x".repeat(Math.max(1, entryBytes - line(n, "").length)))}\n`);
  closeSync(fd);
  return file;
}
