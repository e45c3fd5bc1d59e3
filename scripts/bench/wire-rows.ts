// Rows of the wire: start, dispatch, streaming, big lines, pressure.
import path from "node:path";
import { until } from "../../test/support/until.ts";
import { compile, root } from "../build.ts";
import { Client } from "./client.ts";
import { MB, median, type Row, timeMs } from "./row.ts";

export const wireRows: Row[] = [
  {
    name: "start",
    isForPi: true,
    async measure(target) {
      const echo = path.join(root, "dist", process.platform === "win32" ? "bench-echo.exe" : "bench-echo");
      await compile({ entry: path.join(import.meta.dir, "echo.ts"), outfile: echo });
      const empty = () => new Client([echo], { cwd: target.sandbox.cwd, env: target.sandbox.env() });
      const runs = { [target.name]: [] as Start[], empty: [] as Start[] };
      for (let run = 0; run < (target.name === "rpi" ? 31 : 7); run += 1) {
        runs["empty"]!.push(await firstAnswer(empty, '{"empty":true}', '{"empty":true}'));
        runs[target.name]!.push(await firstAnswer(() => target.start(), '{"type":"get_state","id":"first"}', '"id":"first"'));
      }
      const [own, bare] = [runs[target.name]!, runs["empty"]!].map((starts) => ({ ms: median(starts.map(({ ms }) => ms)), bytes: median(starts.map(({ bytes }) => bytes)) }));
      return [
        { what: "start to the first answer", value: own!.ms, unit: "ms" },
        { what: "  against an empty compiled program", value: own!.ms / bare!.ms, unit: "×", goal: 1.5, note: `${bare!.ms.toFixed(1)} ms` },
        { what: "  memory beyond that program's", value: (own!.bytes - bare!.bytes) / MB, unit: "MB", goal: 12, note: `${(own!.bytes / MB).toFixed(0)} MB against ${(bare!.bytes / MB).toFixed(0)} MB` },
      ];
    },
  },
  {
    name: "pipelined",
    isForPi: true,
    async measure(target) {
      const count = 10_000;
      await using client = await target.ready();
      const requests = Array.from({ length: count }, (_, n) => `{"id":"p${n}","type":"get_state"}\n`).join("");
      const times: number[] = [];
      for (let round = 0; round < 3; round += 1) {
        times.push(
          await timeMs(async () => {
            const last = client.line(`"id":"p${count - 1}"`);
            client.write(requests);
            await last;
          }),
        );
      }
      return [{ what: "10 000 pipelined get_state", value: count / (median(times) / 1000), unit: "/s", goal: 25_000 }];
    },
  },
  {
    name: "deltas",
    isForPi: true,
    async measure(target) {
      await using client = await target.ready();
      const ms = await timeMs(() => client.prompt("DELTAS 100000"));
      return [
        { what: "100 000 deltas from a server to stdout", value: ms / 1000, unit: "s", goal: 1 },
        { what: "  memory at its highest", value: client.memory().peakBytes / MB, unit: "MB", goal: 110 },
      ];
    },
  },
  {
    name: "prompt",
    isForPi: true,
    async measure(target) {
      await using client = await target.ready();
      for (let warm = 0; warm < 5; warm += 1) await client.prompt("hello");
      const prompts: number[] = [];
      const bare: number[] = [];
      for (let round = 0; round < 50; round += 1) {
        prompts.push(await timeMs(() => client.prompt("hello")));
        const body = await (await fetch(`${target.server.url}/last`)).text();
        bare.push(await timeMs(async () => (await fetch(`${target.server.url}/v1/chat/completions`, { method: "POST", body })).text()));
      }
      return [
        { what: "a later prompt to its end", value: median(prompts), unit: "ms" },
        { what: "  against the bare HTTP round trip", value: median(prompts) / median(bare), unit: "×", goal: 3, note: `${median(bare).toFixed(2)} ms` },
      ];
    },
  },
  {
    name: "line",
    isForPi: true,
    async measure(target) {
      await using client = await target.ready();
      const record = { type: "get_state", pad: "x".repeat(32 << 20) };
      const ms = await timeMs(() => client.ask(record));
      return [
        { what: "a line of 32 MiB", value: ms / 1000, unit: "s", goal: 1 },
        { what: "  memory at its highest", value: client.memory().peakBytes / MB, unit: "MB", goal: 250 },
      ];
    },
  },
  {
    name: "pressure",
    isForPi: true,
    async measure(target) {
      await using client = await target.ready();
      client.pauseReading();
      client.send({ type: "prompt", message: "DELTAS 100000" });
      await memoryIsSteady(client);
      const { peakBytes } = client.memory();
      const settled = client.line('"type":"agent_settled"');
      client.resumeReading();
      await settled;
      return [{ what: "nobody reads 100 000 deltas: memory at its highest", value: peakBytes / MB, unit: "MB", goal: 150 }];
    },
  },
];

interface Start {
  ms: number;
  bytes: number;
}

async function firstAnswer(start: () => Client, request: string, needle: string): Promise<Start> {
  const startedAt = performance.now();
  await using client = start();
  const answer = client.line(needle);
  client.write(`${request}\n`);
  await answer;
  return { ms: performance.now() - startedAt, bytes: client.memory().rssBytes };
}

/** Waits until a program that should have stopped producing has done so: its memory stays as it is for a second. */
async function memoryIsSteady(client: Client): Promise<void> {
  let before = client.memory().peakBytes;
  let since = performance.now();
  await until(
    () => {
      const { peakBytes } = client.memory();
      if (peakBytes > before) since = performance.now();
      before = peakBytes;
      return performance.now() - since > 1000;
    },
    "the memory to stay as it is",
    30_000,
  );
}

