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
      const seconds = 10;
      await using client = await target.ready();
      const before = client.memory().rssBytes;
      // 50 MB a second as near as a shell can say it: bursts of 5 MB, ten times a second.
      const burst = `yes 0123456789012345678901234567890123456789 | head -c ${BURST / 10}`;
      const script = `for i in $(seq ${seconds * 10}); do ${burst}; sleep 0.07; done`;
      await client.ask({ type: "process_spawn", spec: { argv: ["sh", "-c", script], cwd: target.sandbox.cwd } });
      const answers: number[] = [];
      const until = performance.now() + seconds * 1000;
      while (performance.now() < until) {
        answers.push(await timeMs(() => client.ask({ type: "get_state" })));
        await Bun.sleep(10);
      }
      return [
        { what: "get_state beside a process with 50 MB/s of output, at its slowest", value: Math.max(...answers), unit: "ms", goal: 50, note: `median ${median(answers).toFixed(1)} ms` },
        { what: "  memory that this adds at its highest", value: (client.memory().peakBytes - before) / MB, unit: "MB" },
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
