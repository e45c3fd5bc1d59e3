// Rows of children: bash, supervised processes, terminals.
import { MB, median, type Row, timeMs } from "./row.ts";

const BURST = 50_000_000;

export const childRows: Row[] = [
  {
    name: "bash",
    isForPi: true,
    async measure(target) {
      await using client = await target.ready();
      const times: number[] = [];
      for (let round = 0; round < 40; round += 1) times.push(await timeMs(() => client.ask({ type: "bash", command: "true" })));
      return [{ what: "bash: true", value: median(times), unit: "ms", goal: 6 }];
    },
  },
  {
    name: "bash-output",
    isForPi: true,
    async measure(target) {
      await using client = await target.ready();
      const command = `yes 'a line of output that is about as long as such lines are' | head -c ${BURST}`;
      const times: number[] = [];
      for (let round = 0; round < 3; round += 1) times.push(await timeMs(() => client.ask({ type: "bash", command })));
      return [
        { what: "bash: 50 MB of output", value: median(times) / 1000, unit: "s", goal: 0.4 },
        { what: "  memory at its highest", value: client.memory().peakBytes / MB, unit: "MB" },
      ];
    },
  },
  {
    name: "process-output",
    isForPi: false,
    async measure(target) {
      const seconds = Number(process.env["BENCH_SECONDS"] ?? 10);
      await using client = await target.ready();
      // 50 MB a second as near as a shell can say it: bursts of 5 MB, ten times a second.
      const burst = `yes 0123456789012345678901234567890123456789 | head -c ${BURST / 10}`;
      const script = `while :; do ${burst}; sleep 0.06; done`;
      const spawned = await client.ask({ type: "process_spawn", spec: { argv: ["sh", "-c", script], cwd: target.sandbox.cwd } });
      const processId: string = JSON.parse(spawned).data.id;
      const answers: number[] = [];
      const memory: number[] = [];
      const startedAt = performance.now();
      while (performance.now() - startedAt < seconds * 1000) {
        answers.push(await timeMs(() => client.ask({ type: "get_state" })));
        memory.push(client.memory().rssBytes);
        await Bun.sleep(10);
      }
      const { outputCursor }: { outputCursor: number } = JSON.parse(await client.ask({ type: "process_describe", processId })).data;
      const rate = outputCursor / MB / ((performance.now() - startedAt) / 1000);
      const early = memory.slice(0, memory.length >> 2);
      return [
        {
          what: "get_state beside a process that writes much, 99 of 100 within",
          value: answers.sort((a, b) => a - b)[Math.floor(answers.length * 0.99)]!,
          unit: "ms",
          goal: 50,
          note: `${rate.toFixed(0)} MB/s, median ${median(answers).toFixed(1)} ms, slowest ${Math.max(...answers).toFixed(0)} ms`,
        },
        { what: "  memory beyond that of the first quarter of the time", value: (Math.max(...memory) - Math.max(...early)) / MB, unit: "MB", note: `${(Math.max(...memory) / MB).toFixed(0)} MB in all` },
      ];
    },
  },
  {
    name: "spawn",
    isForPi: false,
    async measure(target) {
      await using client = await target.ready();
      const request = { type: "process_spawn", spec: { argv: ["true"], cwd: target.sandbox.cwd } };
      const endOf = () => client.line('"type":"process_exited"');
      await client.ask({ type: "process_list" });
      const times: number[] = [];
      for (let round = 0; round < 60; round += 1) {
        times.push(
          await timeMs(async () => {
            const exited = endOf();
            client.send(request);
            await exited;
          }),
        );
      }
      return [{ what: "process_spawn of true to process_exited", value: median(times), unit: "ms" }];
    },
  },
  {
    name: "keys",
    isForPi: false,
    async measure(target) {
      await using client = await target.ready();
      const spawned = await client.ask({ type: "process_spawn", spec: { argv: ["cat"], cwd: target.sandbox.cwd, tty: true } });
      const processId: string = JSON.parse(spawned).data.id;
      const times: number[] = [];
      for (let round = 0; round < 60; round += 1) {
        times.push(
          await timeMs(async () => {
            const echoed = client.line('"type":"process_output"');
            client.send({ type: "process_write", processId, text: "x" });
            await echoed;
          }),
        );
        await Bun.sleep(5);
      }
      return [{ what: "a key to its echo in a terminal", value: median(times), unit: "ms" }];
    },
  },
];
