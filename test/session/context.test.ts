import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fs from "node:fs";
import path from "node:path";
import { noUsage } from "../../src/llm/message.ts";
import { Session } from "../../src/session/session.ts";
import { Sandbox } from "../support/sandbox.ts";
import { assistant, entry, header, idOf, message, put, talk, textsOf, TIME, user } from "./made.ts";

let box: Sandbox;
beforeEach(() => void (box = new Sandbox()));
afterEach(() => box[Symbol.dispose]());

async function messagesOf(records: (object | string)[]): Promise<readonly object[]> {
  const session = await Session.open(put(path.join(box.dir, "made.jsonl"), records));
  try {
    return [...session.messages()];
  } finally {
    session.close();
  }
}
const shown = async (records: (object | string)[]): Promise<string[]> => textsOf((await messagesOf(records)) as never);

describe("a compaction", () => {
  const before = talk(["old q", "old a", "kept q", "kept a"]);
  const compaction = (firstKeptEntryId: string, parentId = idOf(4), id = "0000000f", summary = "SUMMARY"): object => entry(id, parentId, { type: "compaction", summary, firstKeptEntryId, tokensBefore: 1000 });

  test("puts its summary in the place of what it does not keep", async () => {
    const records = [...before, compaction(idOf(3)), message("00000010", "0000000f", user("new q"))];
    expect(await shown(records)).toEqual(["SUMMARY", "kept q", "kept a", "new q"]);
    expect((await messagesOf(records))[0]).toEqual({ role: "compactionSummary", summary: "SUMMARY", tokensBefore: 1000, timestamp: Date.parse(TIME) });
  });

  test("keeps none when it names itself, or what is not on the branch", async () => {
    expect(await shown([...before, compaction("0000000f")])).toEqual(["SUMMARY"]);
    expect(await shown([...before, compaction("deadbeef")])).toEqual(["SUMMARY"]);
    expect(await shown([...before, message("0000000a", idOf(2), user("aside")), compaction("0000000a")])).toEqual(["SUMMARY"]);
  });

  test("takes the place of an earlier one, also when it keeps what came before that", async () => {
    expect(await shown([...before, compaction(idOf(3)), message("00000010", "0000000f", user("new q")), compaction("00000010", "00000010", "00000011", "SECOND")])).toEqual(["SECOND", "new q"]);
    expect(await shown([...before, compaction(idOf(3)), message("00000010", "0000000f", user("new q")), compaction(idOf(4), "00000010", "00000011", "SECOND")])).toEqual(["SECOND", "kept a", "new q"]);
  });

  test("on another branch does nothing", async () => {
    expect(await shown([...before, compaction(idOf(3)), message("00000010", idOf(4), user("elsewhere"))])).toEqual(["old q", "old a", "kept q", "kept a", "elsewhere"]);
  });
});

describe("an edit of the context", () => {
  const edit = (targetId: string, replacement: unknown, id = "0000000e", parentId = idOf(4)): object => entry(id, parentId, { type: "context_edit", targetId, replacement });
  const before = talk(["q", "a", "r", "b"]);

  test("hides its target or replaces its content, and the last one counts", async () => {
    expect(await shown([...before, edit(idOf(1), null)])).toEqual(["a", "r", "b"]);
    expect(await shown([...before, edit(idOf(1), { content: "other" })])).toEqual(["other", "a", "r", "b"]);
    expect(await shown([...before, edit(idOf(1), null), edit(idOf(1), { content: [{ type: "text", text: "again" }] }, "00000010", "0000000e")])).toEqual(["again", "a", "r", "b"]);
  });

  test("makes a text block of a text where the role asks for blocks", async () => {
    expect((await messagesOf([...before, edit(idOf(2), { content: "other" })]))[1]).toEqual({ ...assistant("other") });
  });

  test("that says nothing that can be understood changes nothing", async () => {
    for (const replacement of [undefined, 5, {}, { content: 7 }]) expect(await shown([...before, edit(idOf(1), replacement)])).toEqual(["q", "a", "r", "b"]);
  });

  test("works at once when it is appended", () => {
    const session = Session.create({ cwd: "/", dir: null });
    const first = session.append({ type: "message", message: user("hide me") });
    session.append({ type: "message", message: assistant("a") });
    expect(textsOf(session.messages())).toEqual(["hide me", "a"]);
    session.append({ type: "context_edit", targetId: first.id, replacement: null });
    session.append({ type: "message", message: user("more") });
    expect(textsOf(session.messages())).toEqual(["a", "more"]);
    expect(session.contextItems().map(({ message }) => message)).toEqual([...session.messages()]);
  });
});

test("branch summaries and messages of extensions are messages; their state and what only people see are not", async () => {
  const records = [
    ...talk(["q", "a"]),
    entry("00000005", idOf(2), { type: "branch_summary", fromId: "00000001", summary: "went astray" }),
    entry("00000006", "00000005", { type: "custom_message", customType: "note", content: "for the model", display: false, details: { x: 1 } }),
    entry("00000007", "00000006", { type: "custom", customType: "state", data: 1 }),
    entry("00000008", "00000007", { type: "future_thing", payload: 1 }),
    entry("00000009", "00000008", { type: "branch_summary", fromId: "00000001", summary: "" }),
  ];
  const timestamp = Date.parse(TIME);
  expect((await messagesOf(records)).slice(2)).toEqual([
    { role: "branchSummary", summary: "went astray", fromId: "00000001", timestamp },
    { role: "custom", customType: "note", content: "for the model", display: false, details: { x: 1 }, timestamp },
  ]);
});

test("appending, opening again and building from nothing give the same context", async () => {
  const session = Session.create({ cwd: "/", dir: box.dir });
  session.append({ type: "message", message: user("one") });
  session.messages();
  const kept = session.append({ type: "message", message: assistant("two") });
  session.append({ type: "compaction", summary: "S", firstKeptEntryId: kept.id, tokensBefore: 5 });
  session.append({ type: "message", message: user("three") });
  const grown = structuredClone(session.messages());
  session.close();
  const opened = await Session.open(session.file!);
  expect(opened.messages()).toEqual(grown);
  expect(textsOf(grown)).toEqual(["S", "two", "three"]);
  opened.close();
});

describe("messages of odd shapes", () => {
  const odd = (value: unknown): Promise<readonly object[]> => messagesOf([header(), message("00000001", null, value)]);

  test("get the content that their role should have", async () => {
    expect(await odd({ role: "user", timestamp: 1 })).toEqual([{ role: "user", content: [], timestamp: 1 }]);
    expect(await odd({ role: "user", content: null, timestamp: 1 })).toEqual([{ role: "user", content: [], timestamp: 1 }]);
    expect(await odd({ role: "user", content: "text", timestamp: 1 })).toEqual([{ role: "user", content: "text", timestamp: 1 }]);
    expect(await odd({ role: "user", content: [null, 1, "x", { type: "text" }, { type: "text", text: "kept" }, { type: "alien" }], timestamp: 1 })).toEqual([{ role: "user", content: [{ type: "text", text: "kept" }], timestamp: 1 }]);
    expect(await odd({ role: "toolResult", content: "text", isError: false, timestamp: 1 })).toEqual([{ role: "toolResult", toolCallId: "", toolName: "", content: [{ type: "text", text: "text" }], isError: false, timestamp: 1 }]);
    expect(await odd({ role: "bashExecution", timestamp: 1 })).toEqual([{ role: "bashExecution", command: "", output: "", timestamp: 1 }]);
  });

  test("an answer without usage costs nothing, and a call without arguments has none", async () => {
    expect(await odd({ role: "assistant", content: [{ type: "toolCall", id: "1", name: "ls" }], timestamp: 1 })).toEqual([
      { role: "assistant", content: [{ type: "toolCall", id: "1", name: "ls", arguments: {} }], api: "", provider: "", model: "", stopReason: "stop", usage: noUsage(), timestamp: 1 },
    ]);
    const usage = { input: 1, output: 2, cacheRead: null, cost: { total: 3 } };
    const [message] = (await odd(assistant("x", { usage }))) as [{ usage: object }];
    expect(message.usage).toMatchObject({ input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3 });
  });

  test("of no role, of pi's prompt or no message at all give none", async () => {
    for (const value of [null, undefined, 5, "text", [], {}, { role: 7 }, { role: "alien", content: "x" }, { role: "system", content: "prompt" }]) expect(await odd(value)).toEqual([]);
  });

  test("are counted, listed, forked from and given out all the same", async () => {
    const values = [null, 5, "text", [], {}, { role: "user" }, { role: "user", content: [null] }, { role: "assistant", content: "x" }, { role: "assistant", content: [null], usage: "much" }, { role: "toolResult", content: 5 }];
    const records = values.map((value, i) => message(idOf(i + 1), i ? idOf(i) : null, value));
    const session = await Session.open(put(path.join(box.dir, "odd.jsonl"), [header(), ...records]));
    expect((await session.entries()).entries).toEqual(JSON.parse(JSON.stringify(records)));
    expect(session.stats()).toMatchObject({ totalMessages: 10, userMessages: 2, assistantMessages: 2, toolResults: 1 });
    expect(session.forkMessages()).toEqual([{ entryId: idOf(6), text: "" }, { entryId: idOf(7), text: "" }]);
    expect(session.lastAssistantText()).toBe("x");
    const clone = await Session.fork(session, { cwd: "/", dir: path.join(box.dir, "clones") });
    expect(fs.readFileSync(clone.file!, "utf8").split("\n")).toHaveLength(12);
    session.close();
    clone.close();
  });
});
