import type { z as Z } from "zod";
import type { Zod } from "../../base/zod.ts";
import { KEYS } from "../../process/keys.ts";
import { faultInSize, faultInSpec, type FieldFault } from "../../process/process-spec.ts";
import { SIGNALS } from "../../process/signals.ts";
import { command } from "../command.ts";
import { nothing, processState } from "../shapes.ts";

const one = (z: Zod) => z.object({ processId: z.string() });
const size = (z: Zod) => z.object({ cols: z.number(), rows: z.number() });

/** A check of zod that gives a fault as an issue of its field. */
const faultless = <T>(find: (value: T) => FieldFault | undefined) => (value: T, context: Z.RefinementCtx) => {
  const fault = find(value);
  if (fault) context.addIssue({ code: "custom", path: [...fault.field], message: fault.why });
};

const spec = (z: Zod) => z.object({
  argv: z.array(z.string()).describe("the program and its arguments; no shell is between"),
  cwd: z.string().describe("absolute"),
  env: z.record(z.string(), z.string().nullable()).nullish().transform((env) => env ?? undefined).describe("over rpi's own environment; null removes a name"),
  tty: z.boolean().nullish().transform((tty) => tty ?? undefined).describe("on a terminal instead of pipes (default: false)"),
  terminalSize: size(z).nullish().transform((given) => given ?? undefined).describe("with tty only (default: 80 by 24)"),
  label: z.string().nullish().transform((label) => label ?? undefined).describe("1 to 64 bytes"),
  timeoutMs: z.number().nullish().transform((ms) => ms ?? undefined).describe("ended after this time, as timed_out"),
  outputBytes: z.number().nullish().transform((bytes) => bytes ?? undefined).describe("how much of its newest output is kept for process_logs (default and most: 1048576)"),
}).superRefine(faultless(faultInSpec));

export const processes = {
  process_spawn: command({
    summary: "Start a process that goes on beside everything else.",
    when: "always",
    params: (z) => z.object({ spec: spec(z) }),
    data: processState,
    run: async (app, params) => (await app.supervisor()).spawn(params.spec),
  }),
  process_list: command({
    summary: "The processes that run, and the newest that have ended, by their start.",
    when: "always",
    data: (z) => z.array(processState(z)),
    run: async (app) => (await app.supervisor()).list(),
  }),
  process_describe: command({
    summary: "How a process is doing.",
    when: "always",
    params: one,
    data: processState,
    run: async (app, { processId }) => (await app.supervisor()).describe(processId),
  }),
  process_logs: command({
    summary: "Output from a cursor on; cursors count bytes since the start.",
    when: "always",
    params: (z) => one(z).extend({ cursor: z.number().int().min(0).optional().describe("default: 0"), limitBytes: z.number().int().min(1).optional().describe("default: 262144") }),
    data: (z) => z.looseObject({
      requestedCursor: z.number(), startCursor: z.number(), cursor: z.number(), lost: z.boolean(), lostBytes: z.number(), eof: z.boolean(),
      chunks: z.array(z.looseObject({ startCursor: z.number(), cursor: z.number(), stream: z.literal("combined"), dataBase64: z.string() })),
    }),
    run: async (app, { processId, ...range }) => (await app.supervisor()).logs(processId, range),
  }),
  process_write: command({
    summary: "Write dataBase64 or text to the stdin of a process, or its terminal.",
    when: "always",
    params: (z) => one(z)
      .extend({ dataBase64: z.base64().optional(), text: z.string().optional(), closeStdin: z.boolean().optional() })
      .superRefine(faultless(({ dataBase64, text, closeStdin }) => (dataBase64 === undefined && text === undefined && !closeStdin ? { field: ["dataBase64"], why: "is required, or text, or closeStdin" } : undefined))),
    data: nothing,
    run: async (app, { processId, dataBase64, text, closeStdin }) => {
      const bytes = dataBase64 === undefined ? Buffer.from(text ?? "") : Buffer.from(dataBase64, "base64");
      (await app.supervisor()).write(processId, bytes, { closeStdin });
    },
  }),
  process_keys: command({
    summary: "Press keys on the terminal of a process.",
    when: "always",
    params: (z) => one(z).extend({ keys: z.array(z.enum(KEYS)) }),
    data: nothing,
    run: async (app, { processId, keys }) => { (await app.supervisor()).keys(processId, keys); },
  }),
  process_resize: command({
    summary: "Change the size of the terminal of a process.",
    when: "always",
    params: (z) => one(z).extend(size(z).shape).superRefine(faultless(faultInSize)),
    data: nothing,
    run: async (app, { processId, cols, rows }) => { (await app.supervisor()).resize(processId, { cols, rows }); },
  }),
  process_signal: command({
    summary: "Send a signal to the whole group of a process.",
    when: "always",
    urgent: true,
    params: (z) => one(z).extend({ signal: z.enum(SIGNALS) }),
    data: nothing,
    run: async (app, { processId, signal }) => { (await app.supervisor()).signal(processId, signal); },
  }),
  process_stop: command({
    summary: "End a process and all that it has started; answered when they are gone.",
    when: "always",
    urgent: true,
    params: one,
    data: processState,
    run: async (app, { processId }) => (await app.supervisor()).stop(processId),
  }),
  process_wait: command({
    summary: "Answered when a process has ended, or with busy after timeoutMs.",
    when: "free",
    background: true,
    params: (z) => one(z).extend({ timeoutMs: z.number().min(0).optional() }),
    data: processState,
    run: async (app, { processId, timeoutMs }) => (await app.supervisor()).wait(processId, timeoutMs),
  }),
};
