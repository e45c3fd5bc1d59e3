import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fs from "node:fs";
import path from "node:path";
import { Session } from "../../src/session/session.ts";
import { type PiSession, SessionManager } from "../support/pi.ts";
import { Sandbox } from "../support/sandbox.ts";
import { assistant, entry, idOf, message, put, recordsOf, talk, textsOf, TIME, user } from "./made.ts";

let box: Sandbox;
beforeEach(() => void (box = new Sandbox()));
afterEach(() => box[Symbol.dispose]());

/** What both must agree on, in the words of either. */
const inPi = (pi: PiSession): object => ({ id: pi.getSessionId(), name: pi.getSessionName(), texts: textsOf(pi.buildSessionContext().messages.filter(({ role }) => role !== "system")), roles: pi.buildSessionContext().messages.map(({ role }) => role).filter((role) => role !== "system"), model: pi.buildSessionContext().model });
const inRpi = (rpi: Session): object => ({ id: rpi.id, name: rpi.name, texts: textsOf(rpi.messages()), roles: rpi.messages().map(({ role }) => role), model: rpi.modelChoice() ?? null });

describe("pi opens", () => {
  test("what we write, sees the same and goes on with it, and we with that", async () => {
    const session = Session.create({ cwd: box.cwd, dir: box.dir });
    session.append({ type: "model_change", provider: "local", modelId: "small" });
    session.append({ type: "thinking_level_change", thinkingLevel: "high" });
    const waiting = session.append({ type: "queue", op: "add", kind: "steer", content: "do this too", requestId: "7" });
    const first = session.append({ type: "message", message: user("first question") });
    session.append({ type: "message", message: assistant("", { stopReason: "toolUse", content: [{ type: "toolCall", id: "c1", name: "bash", arguments: { command: "true" } }] }) });
    session.append({ type: "message", message: { role: "toolResult", toolCallId: "c1", toolName: "bash", content: [{ type: "text", text: "done" }], isError: false, timestamp: 1 } });
    session.append({ type: "message", message: user("do this too"), queueId: waiting.id });
    const kept = session.append({ type: "message", message: assistant("answer") });
    session.append({ type: "compaction", summary: "what was said", firstKeptEntryId: kept.id, tokensBefore: 100, details: { readFiles: [], modifiedFiles: [] } });
    session.append({ type: "message", message: { role: "bashExecution", command: "ls", output: "x", exitCode: 0, cancelled: false, truncated: false, timestamp: 1 } });
    session.append({ type: "custom_message", customType: "loop", content: "tick", display: true, details: { taskId: "t" } });
    session.append({ type: "todo_snapshot", state: { phases: [] } });
    session.append({ type: "label", targetId: first.id, label: "start" });
    session.append({ type: "session_info", name: "both ways" });
    session.append({ type: "queue", op: "add", kind: "followUp", content: "and then" });
    const seen = inRpi(session);
    session.close();

    const pi = SessionManager.open(session.file!);
    expect(inPi(pi)).toEqual(seen);
    expect(pi.buildSessionContext().thinkingLevel).toBe("high");
    expect(pi.getLabel(first.id)).toBe("start");
    pi.appendMessage(user("asked in pi"));
    pi.appendMessage(assistant("answered in pi", { provider: "other", model: "large" }));
    pi.appendContextEdit(kept.id, { content: "edited" });
    pi.appendLabelChange(kept.id, "kept");

    const again = await Session.open(session.file!);
    expect(inRpi(again)).toEqual(inPi(SessionManager.open(session.file!)));
    expect([again.notices, textsOf(again.messages()).slice(-2), again.pendingQueue().map(({ content }) => content), again.todos()]).toEqual([[], ["asked in pi", "answered in pi"], ["and then"], { phases: [] }]);
    again.close();
  });

  test("a session that we forked, with its labels", async () => {
    const session = Session.create({ cwd: box.cwd, dir: box.dir });
    const first = session.append({ type: "message", message: user("q") });
    session.append({ type: "label", targetId: first.id, label: "start" });
    session.append({ type: "message", message: assistant("a") });
    const fork = await Session.fork(session, { cwd: box.cwd, dir: box.dir });
    const pi = SessionManager.open(fork.file!);
    expect(inPi(pi)).toEqual(inRpi(fork));
    expect(pi.getLabel(first.id)).toBe("start");
    fork.close();
    session.close();
  });
});

describe("we open", () => {
  test("what pi writes, with branches, summaries, edits and everything of an extension", async () => {
    const pi = SessionManager.create(box.cwd, box.dir);
    pi.appendModelChange("local", "small");
    pi.appendThinkingLevelChange("low");
    pi.appendMessage({ role: "system", content: "", sections: { preamble: "pi's prompt" }, toolsAdded: [], timestamp: 1 });
    const first = pi.appendMessage(user("q"));
    const answer = pi.appendMessage(assistant("a"));
    pi.appendLabelChange(first, "start");
    pi.appendMessage(user("astray"));
    pi.appendMessage(assistant("far astray"));
    pi.branchWithSummary(answer, "went astray and came back");
    pi.appendCustomEntry("state", { count: 42 });
    pi.appendCustomMessageEntry("note", "from an extension", true);
    pi.appendMessage(user("again"));
    pi.appendContextEdit(first, null);
    pi.appendSessionInfo("made by pi");
    const rpi = await Session.open(pi.getSessionFile());
    expect(inRpi(rpi)).toEqual(inPi(pi));
    expect([rpi.notices, rpi.thinkingLevel(), rpi.leafId]).toEqual([[], "low", pi.getLeafId()]);
    expect(rpi.tree()).toEqual(JSON.parse(JSON.stringify(pi.getTree())));
    expect((await rpi.entries()).entries).toEqual(JSON.parse(JSON.stringify(pi.getEntries())));
    rpi.append({ type: "message", message: assistant("in rpi") });
    rpi.close();
    expect(textsOf(SessionManager.open(pi.getSessionFile()).buildSessionContext().messages).at(-1)).toBe("in rpi");
  });

  test("what pi compacted, again and again", async () => {
    const pi = SessionManager.create(box.cwd, box.dir);
    for (const round of ["one", "two", "three"]) {
      pi.appendMessage(user(`${round} q`));
      const kept = pi.appendMessage(assistant(`${round} a`));
      pi.appendCompaction(`summary ${round}`, kept, 100);
    }
    pi.appendMessage(user("last"));
    const rpi = await Session.open(pi.getSessionFile());
    expect(inRpi(rpi)).toEqual(inPi(pi));
    expect(textsOf(rpi.messages())).toEqual(["summary three", "three a", "last"]);
    rpi.close();
  });
});

describe("a file of version 1", () => {
  const old = (): string => put(path.join(box.dir, "old.jsonl"), [
    { type: "session", id: "old-one", timestamp: TIME, cwd: box.cwd, provider: "local", modelId: "small", thinkingLevel: "off" },
    { type: "message", timestamp: TIME, message: user("old q") },
    { type: "message", timestamp: TIME, message: assistant("old a") },
    { type: "message", timestamp: TIME, message: user("kept q") },
    { type: "compaction", timestamp: TIME, summary: "old summary", firstKeptEntryIndex: 3, tokensBefore: 10 },
    { type: "message", timestamp: TIME, message: assistant("kept a") },
  ]);

  test("is understood, and nothing of it is rewritten", async () => {
    const file = old();
    const before = fs.readFileSync(file, "utf8");
    const session = await Session.open(file);
    expect(textsOf(session.messages())).toEqual(["old summary", "kept q", "kept a"]);
    const { entries } = await session.entries();
    expect(entries.map(({ parentId }) => parentId)).toEqual([null, ...entries.slice(0, -1).map(({ id }) => id)]);
    expect([...new Set(entries.map(({ id }) => /^[0-9a-f]{8}$/.test(id)))]).toEqual([true]);
    expect(JSON.parse(Buffer.concat([...session.entriesJson().entries]).toString())).toEqual(JSON.parse(JSON.stringify(entries)));
    session.append({ type: "message", message: user("new q") });
    session.close();
    expect(fs.readFileSync(file, "utf8").startsWith(before)).toBe(true);
    const again = await Session.open(file);
    expect(textsOf(again.messages())).toEqual(["old summary", "kept q", "kept a", "new q"]);
    again.close();
  });

  test("that we went on with is migrated by pi with all that we added", async () => {
    const file = old();
    const session = await Session.open(file);
    const waiting = session.append({ type: "queue", op: "add", kind: "steer", content: "new q" });
    const kept = session.append({ type: "message", message: user("new q"), queueId: waiting.id });
    session.append({ type: "compaction", summary: "new summary", firstKeptEntryId: kept.id, tokensBefore: 10 });
    session.append({ type: "message", message: assistant("new a") });
    session.append({ type: "queue", op: "add", kind: "followUp", content: "waits" });
    const seen = inRpi(session);
    session.close();

    const pi = SessionManager.open(file);
    expect(inPi(pi)).toEqual(seen);
    expect(recordsOf(file)[0]!.version).toBe(3);

    const again = await Session.open(file);
    expect([inRpi(again), again.pendingQueue().map(({ content }) => content), again.notices]).toEqual([seen, ["waits"], []]);
    again.close();
  });
});

test("a file of version 2 keeps its lines, and its hooks' messages become custom", async () => {
  const file = put(path.join(box.dir, "two.jsonl"), [
    ...talk(["q"], { version: 2, cwd: box.cwd }),
    message("00000002", idOf(1), { role: "hookMessage", customType: "note", content: "from a hook", display: true, timestamp: 1 }),
    entry("00000003", "00000002", { type: "message", message: assistant("a") }),
  ]);
  const before = fs.readFileSync(file, "utf8");
  const session = await Session.open(file);
  session.append({ type: "message", message: user("more") });
  expect(session.messages().map(({ role }) => role)).toEqual(["user", "custom", "assistant", "user"]);
  expect(JSON.parse(Buffer.concat([...session.entriesJson().entries]).toString())).toEqual(JSON.parse(JSON.stringify((await session.entries()).entries)));
  const seen = inRpi(session);
  session.close();
  expect(fs.readFileSync(file, "utf8").startsWith(before)).toBe(true);
  expect(inPi(SessionManager.open(file))).toEqual(seen);
});
