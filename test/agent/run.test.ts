import { describe, expect, test } from "bun:test";
import { asks, assistant, call, diskFull, fails, gate, hangs, rig, says, spec, start, story, text, tool } from "./rig.ts";

const PLAIN = ["agent_start", "turn_start", "message_start:user", "message_end:user", "message_start:assistant", "message_update", "message_end:assistant", "turn_end", "agent_end", "agent_settled"];

describe("a run", () => {
  test("tells its story in order", async () => {
    const { run, events } = rig({ steps: [says("hello")] });
    await run("hi");
    expect(story(events)).toEqual(PLAIN);
    const begun = events.find((event) => event.type === "message_start" && event.message.role === "assistant");
    expect(begun).toMatchObject({ message: { role: "assistant", content: [], stopReason: "pending", model: "m" } });
    expect(events.at(-1)).toEqual({ type: "agent_settled", aborted: false, stopReason: "stop" });
    expect(events.at(-2)).toMatchObject({ type: "agent_end", willRetry: false, messages: [{ role: "user" }, { role: "assistant" }] });
  });

  test("begins with start, after the prompt was accepted and stored", async () => {
    const { agent, session, events } = rig();
    const taken = agent.prompt({ text: "hi" });
    expect(taken.disposition).toBe("started");
    expect(session.messages()).toMatchObject([{ role: "user", content: [{ type: "text", text: "hi" }] }]);
    expect([events.length, agent.isStreaming]).toEqual([0, true]);
    expect(() => agent.prompt({ text: "again" })).toThrow(/streamingBehavior/);
    if (taken.disposition === "started") taken.start();
    expect(story(events)).toEqual(["agent_start", "turn_start", "message_start:user", "message_end:user"]);
    await agent.whenIdle();
    expect(agent.isStreaming).toBe(false);
  });

  test("names the requests that it answered", async () => {
    const { agent, run, events } = rig({ steps: [says("1"), fails({ kind: "bad_request", message: "no such thing" })] });
    agent.followUp({ text: "later", requestId: "f" });
    await run("hi", { requestId: "p" });
    expect(events.at(-1)).toEqual({ type: "agent_settled", aborted: false, promptIds: ["p", "f"], stopReason: "error", errorMessage: "no such thing" });
  });

  test("an abort before its start ends it right after", async () => {
    const { agent, events, requests } = rig();
    const taken = agent.prompt({ text: "hi", requestId: "p" });
    const aborted = agent.abort();
    if (taken.disposition === "started") taken.start();
    await aborted;
    expect(requests).toEqual([]);
    expect(story(events)).toEqual(PLAIN.filter((type) => type !== "message_update"));
    expect(events.at(-1)).toEqual({ type: "agent_settled", aborted: true, promptIds: ["p"], stopReason: "aborted" });
  });

  test("an abort keeps what had come of the answer", async () => {
    const { agent, session, events, event } = rig({ steps: [hangs("half a")] });
    start(agent, "hi");
    await event((one) => one.type === "message_update" && one.assistantMessageEvent.type === "text_delta");
    await Promise.all([agent.abort(), agent.abort()]);
    expect(session.messages().at(-1)).toMatchObject({ role: "assistant", stopReason: "aborted", content: [{ type: "text", text: "half a" }] });
    expect(events.filter((one) => one.type === "agent_settled")).toEqual([{ type: "agent_settled", aborted: true, stopReason: "aborted" }]);
  });

  test("an abort at rest resolves and tells nothing", async () => {
    const { agent, events } = rig();
    await agent.abort();
    expect(events).toEqual([]);
  });

  test("a model that ignores the abort does not hold it", async () => {
    const { agent, events } = rig({ steps: [() => new Promise(() => {})] });
    start(agent, "hi");
    await agent.abort(20);
    expect(events.at(-1)).toMatchObject({ type: "agent_settled", aborted: true });
  });

  test("an adapter that throws is an error of the run, told in the answer", async () => {
    const { run, events, session } = rig({ steps: [() => { throw new Error("a bug"); }] });
    await run("hi");
    expect(events.at(-1)).toEqual({ type: "agent_settled", aborted: false, stopReason: "error", errorMessage: "Internal error: a bug" });
    expect(session.messages().at(-1)).toMatchObject({ role: "assistant", stopReason: "error" });
    expect(await run("again")).toMatchObject({ stopReason: "stop" });
  });

  test("a system prompt that cannot be made is an error of the run", async () => {
    const { run } = rig({ more: { systemPrompt: () => Promise.reject(new Error("unreadable")) } });
    expect(await run("hi")).toMatchObject({ type: "agent_settled", stopReason: "error", errorMessage: "Internal error: unreadable" });
  });

  test("a listener that throws does not break it", async () => {
    let settled = 0;
    const { agent } = rig({ more: { emit: (event) => { if (event.type === "agent_settled") settled++; throw new Error("a listener's bug"); } } });
    start(agent, "hi");
    await agent.whenIdle();
    expect(settled).toBe(1);
  });

  test("a prompt that a listener of its end gives is accepted", async () => {
    const asked: string[] = [];
    const { agent, requests } = rig({ more: { emit: (event) => {
      if (event.type !== "agent_settled" || asked.length) return;
      asked.push("next");
      start(agent, "next");
    } } });
    start(agent, "first");
    await agent.whenIdle();
    expect(requests.length).toBe(2);
  });

  test("goes on while there are calls to answer, each turn with its results", async () => {
    const first = call("echo", { words: "a" });
    const { run, events, requests } = rig({ steps: [asks(first), says("done")], tools: [tool("echo", ({ words }) => text(words))] });
    await run("go");
    expect(story(events)).toEqual([
      "agent_start", "turn_start", "message_start:user", "message_end:user", "message_start:assistant", "message_end:assistant",
      "tool_execution_start", "tool_execution_end", "message_start:toolResult", "message_end:toolResult", "turn_end",
      "turn_start", "message_start:assistant", "message_update", "message_end:assistant", "turn_end", "agent_end", "agent_settled",
    ]);
    expect(events.find((event) => event.type === "turn_end")).toMatchObject({ toolResults: [{ toolCallId: first.id, isError: false }] });
    expect(requests[1]?.messages.map((message) => message.role)).toEqual(["user", "assistant", "toolResult"]);
    expect(requests.map(({ systemPrompt, tools }) => [systemPrompt, tools.map(({ name }) => name)])).toEqual([["You are a test.", ["echo"]], ["You are a test.", ["echo"]]]);
  });

  test("an abort in the tool phase gives each call its result and asks the model no more", async () => {
    const begun = gate();
    const calls = [call("wait"), call("wait")];
    const wait = tool("wait", (_, { signal }) => new Promise((resolve) => {
      signal.addEventListener("abort", () => resolve({ ...text("stopped"), isError: true }), { once: true });
      begun.open();
    }));
    const { agent, events, requests, session } = rig({ steps: [asks(...calls)], tools: [wait] });
    start(agent, "go");
    await begun.promise;
    await agent.abort();
    expect(requests.length).toBe(1);
    expect(session.messages().slice(-2)).toMatchObject(calls.map(({ id }) => ({ role: "toolResult", toolCallId: id, isError: true })));
    expect(story(events).slice(-2)).toEqual(["agent_end", "agent_settled"]);
    expect(events.at(-1)).toMatchObject({ aborted: true, stopReason: "aborted" });
  });

  test("the calls of an answer that failed get results, and neither goes to the model", async () => {
    const broken = call("echo");
    const half = assistant(spec(), { content: [{ type: "text", text: "I will" }, broken], stopReason: "error", errorMessage: "reset" });
    const { run, session, requests } = rig({ steps: [() => ({ message: half, failure: { kind: "network", message: "reset" } }), says("whole")] });
    await run("go");
    expect(session.messages().map((message) => message.role)).toEqual(["user", "assistant", "toolResult", "assistant"]);
    expect(session.messages()[2]).toMatchObject({ toolCallId: broken.id, isError: true });
    expect(requests[1]?.messages.map((message) => message.role)).toEqual(["user"]);
  });

  test("a session that cannot be written ends it with an error, and the next one works", async () => {
    const r = rig({ steps: [asks(call("echo")), says("never")], tools: [tool("echo", () => text("x"))] });
    const append = r.session.append.bind(r.session);
    let isFull = false;
    r.session.append = (body) => {
      if (isFull) throw diskFull();
      if (body.type === "message" && body.message.role === "assistant") isFull = true;
      return append(body);
    };
    const end = await r.run("go", { requestId: "p" });
    expect(end).toMatchObject({ type: "agent_settled", aborted: false, promptIds: ["p"], stopReason: "error", errorMessage: expect.stringContaining("ENOSPC") });
    expect(story(r.events).slice(-3)).toEqual(["turn_end", "agent_end", "agent_settled"]);
    expect(() => r.agent.prompt({ text: "more" })).toThrow(/not accepted: ENOSPC/);
    expect(r.agent.isStreaming).toBe(false);
    r.session.append = append;
    expect(await r.run("again")).toMatchObject({ stopReason: "stop" });
  });

  test("needs a model with a key", () => {
    expect(() => rig({ spec: undefined }).agent.prompt({ text: "hi" })).toThrow(/--model/);
    const keyless = rig({ spec: spec("m", { name: "no key" }) });
    expect(() => keyless.agent.prompt({ text: "hi" })).toThrow(/No key for p\/m/);
    expect([keyless.events, keyless.session.messages()]).toEqual([[], []]);
  });

  test("needs words or an image", () => {
    const { agent, session } = rig();
    for (const said of [{ text: "" }, { text: " \n" }, { text: "", images: [] }]) {
      for (const way of [() => agent.prompt(said), () => agent.steer(said), () => agent.followUp(said)]) expect(way).toThrow(/empty/);
    }
    expect(session.messages()).toEqual([]);
    agent.prompt({ text: "", images: [{ type: "image", data: "AAAA", mimeType: "image/png" }] });
    expect(session.messages()).toMatchObject([{ content: [{ type: "image", data: "AAAA" }] }]);
  });

  test("one with a message of rpi's own tells it as it is", async () => {
    const { agent, events, requests } = rig();
    const message = { role: "custom", customType: "loop", content: "check it", display: true, details: { taskId: "t" }, timestamp: 1 } as const;
    expect(await agent.injectRun({ ...message })).toEqual({ aborted: false, promptIds: [], stopReason: "stop" });
    expect(events.find((event) => event.type === "message_end")).toEqual({ type: "message_end", message });
    expect(requests[0]?.messages).toMatchObject([{ role: "user", content: "check it" }]);
  });
});
