import { describe, expect, test } from "bun:test";
import { Session } from "../../src/session/session.ts";
import { textOf } from "../../src/llm/message.ts";
import { asks, call, diskFull, fails, gate, hangs, rig, says, start, text, tool } from "./rig.ts";

const image = { type: "image", data: "AAAA", mimeType: "image/png" } as const;
type Rig = ReturnType<typeof rig>;
const users = ({ session }: Rig) => session.messages().filter((message) => message.role === "user").map((message) => textOf(message.content));
const lastOf = ({ requests }: Rig) => requests.map(({ messages }) => textOf(messages.at(-1)!.content));
const told = ({ events }: Rig) => events.flatMap((event) => (event.type === "queue_update" ? [[event.steering, event.followUp]] : []));

/** A run that stands in its tool phase until `go` is opened. */
function working(settings: Parameters<typeof rig>[0] = {}) {
  const begun = gate();
  const go = gate();
  const r = rig({ ...settings, steps: [asks(call("wait")), ...(settings.steps ?? [])], tools: [tool("wait", async () => { begun.open(); await go.promise; return text("x"); })] });
  start(r.agent, "first", { requestId: "p" });
  return { ...r, begun: begun.promise, go: () => go.open() };
}

describe("the queue", () => {
  test("delivers a steer after the calls of the turn, and a follow-up when the agent would stop", async () => {
    const r = working({ steps: [says("steered"), says("followed")] });
    await r.begun;
    r.agent.followUp({ text: "f", requestId: "f" });
    r.agent.steer({ text: "s", requestId: "s" });
    expect(r.agent.pendingMessageCount).toBe(2);
    r.go();
    await r.agent.whenIdle();
    expect(r.requests.map(({ messages }) => messages.map(({ role }) => role))).toEqual([
      ["user"], ["user", "assistant", "toolResult", "user"], ["user", "assistant", "toolResult", "user", "assistant", "user"],
    ]);
    expect(lastOf(r)).toEqual(["first", "s", "f"]);
    expect(told(r)).toEqual([[[], ["f"]], [["s"], ["f"]], [[], ["f"]], [[], []]]);
    expect(r.events.filter(({ type }) => type === "agent_settled")).toEqual([{ type: "agent_settled", aborted: false, promptIds: ["p", "s", "f"], stopReason: "stop" }]);
    expect(r.agent.pendingMessageCount).toBe(0);
  });

  test("delivers one at a time, or all together", async () => {
    const one = working();
    await one.begun;
    for (const words of ["s1", "s2"]) one.agent.steer({ text: words });
    for (const words of ["f1", "f2"]) one.agent.followUp({ text: words });
    one.go();
    await one.agent.whenIdle();
    expect(lastOf(one)).toEqual(["first", "s1", "s2", "f1", "f2"]);

    const all = working();
    await all.begun;
    all.agent.steeringMode = "all";
    all.agent.followUpMode = "all";
    for (const words of ["s1", "s2"]) all.agent.steer({ text: words });
    for (const words of ["f1", "f2"]) all.agent.followUp({ text: words });
    all.go();
    await all.agent.whenIdle();
    expect(lastOf(all)).toEqual(["first", "s2", "f2"]);
    expect(users(all)).toEqual(["first", "s1", "s2", "f1", "f2"]);
  });

  test("takes a prompt with streamingBehavior while a run is active, and starts one while none is", async () => {
    const r = working();
    await r.begun;
    expect(r.agent.prompt({ text: "f", streamingBehavior: "followUp", requestId: "q" })).toEqual({ disposition: "queued" });
    expect(r.agent.prompt({ text: "s", streamingBehavior: "steer" })).toEqual({ disposition: "queued" });
    r.go();
    await r.agent.whenIdle();
    expect(lastOf(r)).toEqual(["first", "s", "f"]);
    expect(r.events.at(-1)).toMatchObject({ promptIds: ["p", "q"] });
    expect(r.agent.prompt({ text: "x", streamingBehavior: "steer" }).disposition).toBe("started");
  });

  test("what came at rest goes in with the next prompt: its text, then steers, then follow-ups", async () => {
    const r = rig();
    r.agent.followUp({ text: "f" });
    r.agent.steer({ text: "s" });
    expect(r.events.map(({ type }) => type)).toEqual(["queue_update", "queue_update"]);
    await r.run("p");
    expect(users(r)).toEqual(["p", "s", "f"]);
    expect(lastOf(r)).toEqual(["s", "f"]);
  });

  test("keeps images", async () => {
    const r = rig();
    r.agent.steer({ text: "look", images: [image] });
    r.agent.followUp({ text: "", images: [image] });
    await r.run("p");
    expect(r.session.messages().filter(({ role }) => role === "user").map((message) => "content" in message && message.content)).toEqual([
      [{ type: "text", text: "p" }], [{ type: "text", text: "look" }, image], [image],
    ]);
  });

  test("survives an abort, does not run by itself, and goes in with the next prompt", async () => {
    const r = rig({ steps: [hangs()] });
    start(r.agent, "first");
    await r.event(({ type }) => type === "message_update");
    r.agent.steer({ text: "s" });
    r.agent.followUp({ text: "f" });
    await r.agent.abort();
    expect([r.requests.length, r.agent.pendingMessageCount, r.agent.isStreaming]).toEqual([1, 2, false]);
    await r.run("next");
    expect(users(r)).toEqual(["first", "next", "s", "f"]);
  });

  test("is delivered during the wait for a retry, with the retry", async () => {
    const r = rig({ steps: [fails({ kind: "overloaded" }), says("ok")], settings: { retry: { enabled: true, maxRetries: 1, baseDelayMs: 30, maxDelayMs: 1000 } } });
    start(r.agent, "first");
    await r.event(({ type }) => type === "auto_retry_start");
    r.agent.steer({ text: "s" });
    await r.agent.whenIdle();
    expect(lastOf(r)).toEqual(["first", "s"]);
  });

  test("goes on after an answer that failed", async () => {
    const r = rig({ steps: [fails({ kind: "auth" }), says("ok")] });
    r.agent.followUp({ text: "f" });
    expect(await r.run("first")).toMatchObject({ type: "agent_settled", stopReason: "stop" });
    expect(lastOf(r)).toEqual(["first", "f"]);
  });

  test("gives back what is cleared, once", async () => {
    const r = working();
    await r.begun;
    for (const words of ["s1", "s2"]) r.agent.steer({ text: words });
    r.agent.followUp({ text: "f1" });
    expect(r.agent.clearQueue()).toEqual({ steering: ["s1", "s2"], followUp: ["f1"] });
    expect(r.agent.clearQueue()).toEqual({ steering: [], followUp: [] });
    r.go();
    await r.agent.whenIdle();
    expect([r.requests.length, users(r)]).toEqual([2, ["first"]]);
    expect(told(r).at(-1)).toEqual([[], []]);
  });

  test("takes a message only when it can be written, and loses none when it can not be delivered", async () => {
    const r = rig();
    const append = r.session.append.bind(r.session);
    r.session.append = (body) => { if (body.type === "queue") throw diskFull(); return append(body); };
    expect(() => r.agent.steer({ text: "s" })).toThrow("The message was not queued: ENOSPC: no space left on device");
    expect(r.agent.pendingMessageCount).toBe(0);
    r.session.append = append;
    r.agent.steer({ text: "s" });
    r.session.append = (body) => { if (body.type === "message" && body.queueId) throw diskFull(); return append(body); };
    expect(await r.run("first")).toMatchObject({ type: "agent_settled", aborted: false, stopReason: "error", errorMessage: expect.stringContaining("ENOSPC") });
    expect([r.agent.pendingMessageCount, users(r)]).toEqual([1, ["first"]]);
    r.session.append = append;
    await r.run("next");
    expect(users(r)).toEqual(["first", "next", "s"]);
  });

  test("stays with the session it was given in", async () => {
    const r = rig();
    r.agent.steer({ text: "s" });
    const old = r.session;
    r.agent.replaceSession(Session.create({ cwd: process.cwd(), dir: null }));
    r.agent.tellQueue();
    expect([told(r).at(-1), r.agent.pendingMessageCount]).toEqual([[[], []], 0]);
    r.agent.replaceSession(old);
    r.agent.tellQueue();
    expect([told(r).at(-1), r.agent.pendingMessageCount]).toEqual([[["s"], []], 1]);
  });
});
