import { randomHex } from "../base/random.ts";
import { sleepUntilAborted, untilAborted } from "../base/wait.ts";
import { adapter, type MessageBuilder } from "./builder.ts";
import { failureOfError } from "./http-failure.ts";
import { RequestFailed } from "./failure.ts";
import type { FauxScript, FauxStep } from "./faux-script.ts";
import { textOf } from "./message.ts";
import type { Adapter, ModelRequest } from "./model.ts";

/** UTF-16 units of a delta. */
const DELTA = 6;
/** Deltas between two looks at what else there is to do, an abort above all. */
const BREATH = 64;
const CHARS_PER_TOKEN = 4;

const UNSCRIPTED = "This is the built-in offline model: it has nothing to say by itself. Give it words with PI_FAUX_RESPONSE=text, or turns to play with --faux-script FILE.";
const ENDED = "The faux script has ended: it has no more turns.";

/** The offline model. It counts the turns it has played for as long as it lives. */
export function fauxAdapter({ script, response }: { script?: FauxScript; response?: string }): Adapter {
  let played = 0;
  const next = (): readonly FauxStep[] => {
    if (script) return script.turns[played++] ?? [{ text: ENDED }];
    return [{ text: response ?? UNSCRIPTED }];
  };
  return adapter(async (builder) => {
    const steps = next();
    builder.setUsage({ input: estimate(builder.request), output: 0 });
    for (const step of steps) {
      builder.options.signal.throwIfAborted();
      await play(step, builder);
    }
    if (!steps.some((step) => "stopReason" in step)) builder.stop(builder.hasCalls ? "toolUse" : "stop");
    if (!steps.some((step) => "usage" in step)) builder.setUsage({ output: Math.ceil(spoken(steps) / CHARS_PER_TOKEN) });
  });
}

async function play(step: FauxStep, builder: MessageBuilder): Promise<void> {
  if ("text" in step) return inDeltas(step.text, builder, (delta) => builder.text(delta));
  if ("thinking" in step) return inDeltas(step.thinking, builder, (delta) => builder.thinking(delta));
  if ("delayMs" in step) return sleepUntilAborted(step.delayMs, builder.options.signal);
  if ("usage" in step) return builder.setUsage({ input: 0, cacheRead: 0, cacheWrite: 0, ...step.usage });
  if ("stopReason" in step) return builder.stop(step.stopReason);
  if ("error" in step) throw new RequestFailed(failureOfError({ message: step.error.message }, step.error.status, step.error.retryAfterMs));
  const { name, id } = step.toolCall;
  const args = step.toolCall.arguments ?? {};
  const at = builder.openCall(id || `call_${randomHex(8)}`, name);
  await inDeltas(typeof args === "string" ? args : JSON.stringify(args), builder, (delta) => builder.callDelta(at, delta));
  builder.closeCall(at);
}

/** Cuts between characters, never inside one, and takes a breath now and then. */
async function inDeltas(text: string, { options }: MessageBuilder, tell: (delta: string) => void): Promise<void> {
  for (let from = 0, told = 0; from < text.length; told += 1) {
    const wait = options.ready?.();
    if (wait) await untilAborted(wait, options.signal);
    if (told % BREATH === 0) await new Promise(setImmediate);
    options.signal.throwIfAborted();
    let to = Math.min(from + DELTA, text.length);
    const last = text.charCodeAt(to - 1);
    if (last >= 0xd800 && last < 0xdc00 && to < text.length) to += 1;
    tell(text.slice(from, to));
    from = to;
  }
}

function estimate(request: ModelRequest): number {
  const chars = request.messages.reduce((sum, message) => sum + textOf(message.content).length, request.systemPrompt.length);
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

function spoken(steps: readonly FauxStep[]): number {
  return steps.reduce((sum, step) => sum + ("text" in step ? step.text : "thinking" in step ? step.thinking : "toolCall" in step ? JSON.stringify(step.toolCall) : "").length, 0);
}
