import { describe, expect, test } from "bun:test";
import type { Refused } from "../../src/llm/refused.ts";
import { PNG } from "../llm/transcript.ts";
import { asks, call, fails, rig, says, spec, tool, type Step } from "./rig.ts";

const SEEING = spec("m", { input: ["text", "image"] });
const note = { type: "text" as const, text: "[Image left out: the provider refused it.]" };
const said = (words: string) => ({ type: "text" as const, text: words });
const refuses = (refused: Refused): Step => fails({ kind: "bad_request", message: "400 could not process image", refused });
const OTHER = { ...PNG, data: `${PNG.data.slice(0, -4)}AAAA` };

/** The content of each user message and result of a request. */
const sent = (r: ReturnType<typeof rig>, n: number) => r.requests[n]!.messages.flatMap(({ role, content }) => (role === "assistant" ? [] : [content]));

describe("An image that the provider refuses", () => {
  test("is left out of the same request and of all later ones, and stays in the transcript", async () => {
    const r = rig({ spec: SEEING, steps: [refuses("images"), says("I see nothing."), says("Still nothing.")] });
    expect(await r.run("look", { images: [PNG] })).toEqual({ type: "agent_settled", aborted: false, stopReason: "stop" });
    await r.run("and now?");
    expect([sent(r, 0), sent(r, 1), sent(r, 2)]).toEqual([[[said("look"), PNG]], [[said("look"), note]], [[said("look"), note], [said("and now?")]]]);
    expect(r.session.messages()[0]).toMatchObject({ role: "user", content: [said("look"), PNG] });
    expect(r.events.filter(({ type }) => type === "notice" || type === "agent_end")).toMatchObject([
      { type: "notice", level: "warning", code: "image_refused", message: "p/m refused an image (400 could not process image). It is asked again without; the transcript keeps it." },
      { type: "agent_end", willRetry: true }, { type: "agent_end", willRetry: false }, { type: "agent_end", willRetry: false },
    ]);
  });

  test("may stand in a result of a tool", async () => {
    const r = rig({ spec: SEEING, steps: [asks(call("shoot")), refuses("images"), says("blind")], tools: [tool("shoot", () => ({ content: [PNG] }))] });
    expect(await r.run("go")).toMatchObject({ stopReason: "stop" });
    expect(sent(r, 2)).toEqual([[said("go")], [note]]);
  });

  test("is one that came since the last answer, or any when that does not help", async () => {
    const r = rig({ spec: SEEING, steps: [says("nice"), refuses("images"), says("half"), refuses("images"), says("none")] });
    await r.run("first", { images: [PNG] });
    await r.run("second", { images: [OTHER] });
    expect(sent(r, 2)).toEqual([[said("first"), PNG], [said("second"), note]]);
    await r.run("third");
    expect(sent(r, 4)).toEqual([[said("first"), note], [said("second"), note], [said("third")]]);
  });

  test("is shown to another model", async () => {
    const other = spec("n", { input: ["text", "image"] });
    const r = rig({ spec: SEEING, specs: [SEEING, other], steps: [refuses("images"), says("blind"), says("I see it")] });
    await r.run("look", { images: [PNG] });
    r.agent.setModel(other);
    await r.run("and you?");
    expect(sent(r, 2)[0]).toEqual([said("look"), PNG]);
  });

  test("is not looked for without end", async () => {
    const r = rig({ spec: SEEING, steps: [refuses("images"), refuses("images"), refuses("images")] });
    expect(await r.run("look", { images: [PNG] })).toMatchObject({ stopReason: "error", errorMessage: "400 could not process image" });
    expect(r.requests.length).toBe(2);
    const blind = rig({ steps: [refuses("images")] });
    expect(await blind.run("look", { images: [PNG] })).toMatchObject({ stopReason: "error" });
    expect(blind.requests.length).toBe(1);
  });
});

test("User messages in a row are joined for a server that refuses them, from then on", async () => {
  const r = rig({ steps: [says("hi"), refuses("roles_in_a_row"), says("ok"), refuses("roles_in_a_row")] });
  await r.run("alone");
  await r.agent.bash({ command: "echo side" });
  expect(await r.run("two")).toMatchObject({ stopReason: "stop" });
  expect(await r.run("three")).toMatchObject({ stopReason: "error" });
  expect(r.requests.map(({ joinsUsers = false }) => joinsUsers)).toEqual([false, false, true, true]);
});

test("An answer that says nothing is told", async () => {
  const r = rig({ steps: [says(" ")] });
  expect(await r.run("hi")).toMatchObject({ stopReason: "stop" });
  expect(r.events.find(({ type }) => type === "notice")).toEqual({ type: "notice", level: "warning", code: "empty_answer", message: "p/m ended its answer without saying anything." });
});
