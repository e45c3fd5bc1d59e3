import { describe, expect, test } from "bun:test";
import { z } from "zod";
import type { AgentEvent } from "../../src/agent/events.ts";
import { textOf, type ToolCall } from "../../src/llm/message.ts";
import { markFault } from "../../src/llm/tool-arguments.ts";
import { ToolFailure, type Tool, type ToolResult } from "../../src/tools/tool.ts";
import { asks, assistant, call, gate, rig, says, spec, start, text, tool } from "./rig.ts";

type End = Extract<AgentEvent, { type: "tool_execution_end" }>;

function eventsOf<T extends AgentEvent["type"]>(events: readonly AgentEvent[], type: T) {
  return events.filter((event): event is Extract<AgentEvent, { type: T }> => event.type === type);
}

async function phase(calls: ToolCall[], tools: Tool[]) {
  const made = rig({ steps: [asks(...calls), says("done")], tools });
  await made.run("go");
  return { ...made, starts: eventsOf(made.events, "tool_execution_start"), ends: eventsOf(made.events, "tool_execution_end") };
}

const ends = (told: End[]) => told.map(({ result, isError }) => [textOf(result.content), isError]);

describe("the tool phase", () => {
  test("starts in the model's order, ends as the work does, and gives results in the model's order", async () => {
    const quickEnded = gate();
    const calls = [call("slow"), call("quick"), call("slow")];
    const made = rig({ steps: [asks(...calls)], tools: [
      tool("slow", async () => { await quickEnded.promise; return text("slow"); }),
      tool("quick", () => text("quick")),
    ] });
    void made.event((event) => event.type === "tool_execution_end").then(() => quickEnded.open());
    await made.run("go");
    const { events } = made;
    const of = <T extends AgentEvent["type"]>(type: T) => eventsOf(events, type);
    const ids = calls.map(({ id }) => id);
    expect(of("tool_execution_start").map((event) => event.toolCallId)).toEqual(ids);
    expect(of("tool_execution_end").map((event) => event.toolName)).toEqual(["quick", "slow", "slow"]);
    expect(made.session.messages().flatMap((message) => (message.role === "toolResult" ? [message.toolCallId] : []))).toEqual(ids);
    const types = events.map((event) => (event.type === "message_start" && event.message.role === "toolResult" ? "result" : event.type));
    expect(types.lastIndexOf("tool_execution_end")).toBeLessThan(types.indexOf("result"));
    expect(of("turn_end")[0]?.toolResults.map((result) => result.toolCallId)).toEqual(ids);
  });

  test("gives a call that cannot run an end and a result that says why", async () => {
    const path = tool("read", () => text("read"), () => z.object({ path: z.string(), lines: z.array(z.number()).optional() }));
    const broken = call("read", {});
    markFault(broken, "the text ended early");
    const ran: string[] = [];
    const { ends: told, starts } = await phase(
      [call("nosuch"), call("read", { wrong: true }), call("read", { path: "a", lines: [1, "x"] }), broken, call("fine")],
      [path, tool("fine", () => { ran.push("fine"); return text("fine"); })],
    );
    const byCall = starts.map(({ toolCallId }) => told.find((end) => end.toolCallId === toolCallId)!);
    const texts = ends(byCall);
    expect(texts[0]).toEqual(['There is no tool named "nosuch". The tools are: read, fine.', true]);
    expect(texts[1]).toEqual([expect.stringMatching(/^Invalid arguments for read:\n- path: .*string/), true]);
    expect(texts[2]).toEqual([expect.stringMatching(/- lines\[1\]: .*number/), true]);
    expect(texts[3]).toEqual([expect.stringContaining("the text ended early"), true]);
    expect(texts[4]).toEqual(["fine", false]);
    expect(ran).toEqual(["fine"]);
  });

  test("does not run calls that the output limit cut off", async () => {
    const ran: string[] = [];
    const cut = call("write", { content: "half" });
    const { run, session } = rig({
      steps: [() => ({ message: assistant(spec(), { content: [cut], stopReason: "length" }) }), says("again")],
      tools: [tool("write", () => { ran.push("write"); return text("written"); })],
    });
    await run("go");
    expect(ran).toEqual([]);
    expect(session.messages()[2]).toMatchObject({ role: "toolResult", toolCallId: cut.id, isError: true, content: [{ text: expect.stringContaining("output limit") }] });
    expect(session.messages().length).toBe(4);
  });

  test("turns what a tool throws into a result", async () => {
    const { ends: told } = await phase([call("fails"), call("breaks"), call("nothing")], [
      tool("fails", () => { throw new ToolFailure("no such file: a.txt"); }),
      tool("breaks", () => { throw new TypeError("x is undefined"); }),
      tool("nothing", () => undefined as unknown as ToolResult),
    ]);
    expect(ends(told).sort()).toEqual([["The tool nothing ended without a result.", true], ["no such file: a.txt", true], ["x is undefined", true]]);
  });

  test("passes prepared and parsed arguments, the folder and the call's id", async () => {
    const seen: unknown[] = [];
    const odd = tool("odd", (args, { cwd, toolCallId }) => { seen.push(args, cwd, toolCallId); return text("x"); }, () => z.object({ count: z.number().default(3), name: z.string() }));
    odd.prepare = ({ old }) => ({ name: old });
    const asked = call("odd", { old: "n" });
    const { session } = await phase([asked], [odd]);
    expect(seen).toEqual([{ name: "n", count: 3 }, session.cwd, asked.id]);
  });

  test("settles a tool that ignores an abort after a grace, and drops what it gives later", async () => {
    const begun = gate();
    const late = gate<ToolResult>();
    const deaf = tool("deaf", (_, { update }) => { begun.open(); void late.promise.then(() => update(text("late"))); return late.promise; });
    const { agent, events, session } = rig({ steps: [asks(call("deaf"))], tools: [deaf] });
    start(agent, "go");
    await begun.promise;
    await agent.abort(20);
    const count = events.length;
    late.open(text("too late"));
    await late.promise;
    await Promise.resolve();
    expect(events.length).toBe(count);
    expect(session.messages().at(-1)).toMatchObject({ role: "toolResult", isError: true, content: [{ text: expect.stringContaining("did not stop in time") }] });
  });

  test("does not begin calls of an answer that was aborted", async () => {
    const ran: string[] = [];
    const asked = call("echo");
    const begun = gate();
    const { agent, session } = rig({
      steps: [({ options }) => new Promise((resolve) => begun.open(options.signal.addEventListener("abort", () => resolve({ message: assistant(spec(), { content: [asked], stopReason: "aborted" }) }))))],
      tools: [tool("echo", () => { ran.push("echo"); return text("x"); })],
    });
    start(agent, "go");
    await begun.promise;
    await agent.abort();
    expect(ran).toEqual([]);
    expect(session.messages().at(-1)).toMatchObject({ role: "toolResult", toolCallId: asked.id, isError: true });
  });

  test("tells progress, the last of it before the end and none after", async () => {
    const { events } = await phase([call("work")], [tool("work", async (_, { update }) => {
      for (let i = 1; i <= 50; i++) update(text(`step ${i}`));
      return text("finished");
    })]);
    const told = events.flatMap((event) => (event.type === "tool_execution_update" ? [textOf(event.partialResult.content)] : event.type === "tool_execution_end" ? ["end"] : []));
    expect(told).toEqual(["step 1", "step 50", "end"]);
  });

  test("costs little more than the four records that a long result needs", async () => {
    const line = "0123456789abcdefghijklmno\n";
    const whole = line.repeat(Math.floor(51_200 / line.length));
    const { events } = await phase([call("long", { command: "print" })], [tool("long", async (_, { update }) => {
      for (let i = 0; i < 2000; i++) {
        update(text(whole.slice(0, i * line.length)));
        if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      return text(whole);
    })]);
    const from = events.findIndex((event) => event.type === "tool_execution_start");
    const bytes = events.slice(from).reduce((sum, event) => sum + Buffer.byteLength(JSON.stringify(event)) + 1, 0);
    expect(bytes).toBeLessThan(4 * whole.length * 1.05 + 40_000);
    expect(bytes).toBeLessThan(260_000);
    expect(events.find((event) => event.type === "message_start" && event.message.role === "toolResult")).toMatchObject({ message: { content: [], isError: false } });
  });
});
