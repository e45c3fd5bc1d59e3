import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fs from "node:fs";
import path from "node:path";
import { Refusal } from "../../src/base/refusal.ts";
import { Session } from "../../src/session/session.ts";
import { Sandbox } from "../support/sandbox.ts";
import { assistant, recordsOf, textsOf, user } from "./made.ts";

let box: Sandbox;
beforeEach(() => void (box = new Sandbox()));
afterEach(() => box[Symbol.dispose]());

const now = (): number => Date.parse("2025-06-01T10:00:00.123Z");
const create = (more: object = {}): Session => Session.create({ cwd: "/home/place", dir: path.join(box.dir, "sessions"), now, ...more });

describe("the file", () => {
  test("is told before it exists and is named after time and id", () => {
    const session = create();
    expect(session.file).toBe(path.join(box.dir, "sessions", `2025-06-01T10-00-00-123Z_${session.id}.jsonl`));
    expect(fs.existsSync(path.join(box.dir, "sessions"))).toBe(false);
  });

  test("appears with the first thing worth keeping, and what was held back goes before it", () => {
    const session = create({ parentSession: "/elsewhere.jsonl" });
    session.append({ type: "model_change", provider: "local", modelId: "small" });
    session.append({ type: "thinking_level_change", thinkingLevel: "high" });
    expect(fs.existsSync(session.file!)).toBe(false);
    session.append({ type: "message", message: user("hello") });
    const [head, ...entries] = recordsOf(session.file!);
    expect(head).toEqual({ type: "session", version: 3, id: session.id, timestamp: "2025-06-01T10:00:00.123Z", cwd: "/home/place", parentSession: "/elsewhere.jsonl" });
    expect(entries.map(({ type }) => type)).toEqual(["model_change", "thinking_level_change", "message"]);
    expect(entries.map(({ parentId }) => parentId)).toEqual([null, entries[0]!.id, entries[1]!.id]);
    session.close();
  });

  test.each([
    ["a queued message", { type: "queue", op: "add", kind: "steer", content: "later" }],
    ["a name", { type: "session_info", name: "named" }],
    ["a plan", { type: "todo_snapshot", state: [] }],
    ["the output of a command", { type: "message", message: { role: "bashExecution", command: "true", output: "", cancelled: false, truncated: false, timestamp: 0 } }],
  ] as const)("appears with %s", (_, body) => {
    const session = create();
    const entry = session.append(body as never);
    expect(recordsOf(session.file!).slice(1)).toEqual([JSON.parse(JSON.stringify(entry))]);
    session.close();
  });

  test("is there at once when it was asked for", () => {
    const session = create({ atOnce: true });
    expect(recordsOf(session.file!)).toHaveLength(1);
    session.close();
  });

  test("is for its owner alone", () => {
    const session = create({ atOnce: true });
    expect(fs.statSync(session.file!).mode & 0o777).toBe(0o600);
    expect(fs.statSync(path.dirname(session.file!)).mode & 0o777).toBe(0o700);
    session.close();
  });

  test("has each entry on a line before append returns", () => {
    const session = create();
    for (const [i, body] of [user("a\nb\u2028c"), assistant("ünï 🎉"), user("d")].entries()) {
      const entry = session.append({ type: "message", message: body });
      expect(recordsOf(session.file!).at(-1)).toEqual(entry as never);
      expect(recordsOf(session.file!)).toHaveLength(i + 2);
    }
    session.close();
  });

  test("gives back what was written, with the same leaf, when it is opened again", async () => {
    const session = create();
    session.append({ type: "message", message: user("one") });
    session.append({ type: "message", message: assistant("two") });
    session.append({ type: "label", targetId: session.leafId!, label: "here" });
    session.append({ type: "session_info", name: " spaced  " });
    const seen = async (of: Session): Promise<object> => ({ id: of.id, cwd: of.cwd, createdAt: of.createdAt, name: of.name, page: await of.entries(), stats: of.stats(), messages: [...of.messages()] });
    const before = await seen(session);
    session.close();
    const again = await Session.open(session.file!);
    expect(await seen(again)).toEqual(before);
    expect(again.name).toBe("spaced");
    expect(again.notices).toEqual([]);
    again.close();
  });

  test("takes nothing more once the session is closed, and is not made then", () => {
    const begun = create({ atOnce: true });
    const unbegun = create();
    for (const session of [begun, unbegun]) {
      session.close();
      expect(() => session.append({ type: "message", message: user("late") })).toThrow("the session has been closed");
      expect(session.messages()).toEqual([]);
    }
    expect([recordsOf(begun.file!).length, fs.existsSync(unbegun.file!)]).toEqual([1, false]);
  });

  test("is not touched by what cannot be written as JSON", () => {
    const session = create({ atOnce: true });
    const data: Record<string, unknown> = {};
    data["self"] = data;
    expect(() => session.append({ type: "custom", customType: "x", data })).toThrow(TypeError);
    session.append({ type: "custom", customType: "x", data: "\ud800" });
    expect(recordsOf(session.file!).map(({ type }) => type)).toEqual(["session", "custom"]);
    session.sync();
    session.close();
  });

  test("that has been deleted is not made again without its beginning", () => {
    const session = create({ atOnce: true });
    fs.rmSync(session.file!);
    expect(() => session.append({ type: "message", message: user("x") })).toThrow(/has been deleted/);
    expect(session.messages()).toEqual([]);
    session.close();
  });
});

describe("a chosen id", () => {
  test("is used, and its file is there at once", () => {
    const session = create({ id: "my-session.1" });
    expect(session.id).toBe("my-session.1");
    expect(recordsOf(session.file!)[0]!.id).toBe("my-session.1");
    session.close();
  });

  test.each(["", "-x", "a/b", "../x", "x y", "x".repeat(200)])("that cannot be part of a file name is refused: %j", (id) => {
    expect(() => create({ id })).toThrow(Refusal);
    expect(fs.existsSync(path.join(box.dir, "sessions"))).toBe(false);
  });

  test("that is taken in the folder is refused, naming the file", () => {
    const first = create({ id: "mine" });
    expect(() => create({ id: "mine" })).toThrow(new Refusal("invalid", `A session with the id mine exists already: ${first.file}`));
    first.close();
    expect(() => create({ id: "mine" })).toThrow(Refusal);
  });
});

describe("in memory", () => {
  test("everything works without a file", async () => {
    const session = create({ dir: null, id: "mem", atOnce: true });
    expect(session.file).toBeUndefined();
    session.append({ type: "message", message: user("one") });
    session.append({ type: "message", message: assistant("two") });
    session.append({ type: "session_info", name: "memory" });
    const fork = await Session.fork(session, { cwd: "/home/place", dir: null, leafId: session.forkPoint(session.forkMessages()[0]!.entryId).leafId });
    const clone = await Session.fork(session, { cwd: "/home/place", dir: null });
    expect([textsOf(session.messages()), textsOf(fork.messages()), textsOf(clone.messages()), clone.name]).toEqual([["one", "two"], [], ["one", "two"], "memory"]);
    expect(clone.file).toBeUndefined();
    expect(clone.parentSession).toBeUndefined();
    expect(fs.readdirSync(box.dir)).not.toContain("sessions");
  });
});

describe("the branch", () => {
  test("tells model, level and plan that were set last", () => {
    const session = create({ dir: null });
    expect([session.modelChoice(), session.thinkingLevel(), session.todos()]).toEqual([undefined, undefined, undefined]);
    session.append({ type: "model_change", provider: "p", modelId: "m" });
    session.append({ type: "thinking_level_change", thinkingLevel: "low" });
    session.append({ type: "todo_snapshot", state: { phases: [1] } });
    session.append({ type: "message", message: user("q") });
    expect([session.modelChoice(), session.thinkingLevel(), session.todos()]).toEqual([{ provider: "p", modelId: "m" }, "low", { phases: [1] }]);
    session.append({ type: "message", message: assistant("a") });
    expect(session.modelChoice()).toEqual({ provider: "local", modelId: "small" });
  });

  test("is not moved by labels and queued messages", () => {
    const session = create({ dir: null });
    const one = session.append({ type: "message", message: user("one") });
    session.append({ type: "label", targetId: one.id, label: "here" });
    const waiting = session.append({ type: "queue", op: "add", kind: "followUp", content: "later" });
    expect([session.leafId, waiting.parentId]).toEqual([one.id, one.id]);
    expect(session.append({ type: "message", message: assistant("two") }).parentId).toBe(one.id);
  });
});

describe("counts", () => {
  test("are of every entry, paid for or not", () => {
    const session = create({ dir: null });
    const usage = { input: 10, output: 5, cacheRead: 2, cacheWrite: 1, totalTokens: 18, cost: { input: 0.1, output: 0.2, cacheRead: 0, cacheWrite: 0, total: 0.3 } };
    session.append({ type: "message", message: user("q") });
    session.append({ type: "message", message: assistant("", { content: [{ type: "toolCall", id: "1", name: "bash", arguments: {} }, { type: "toolCall", id: "2", name: "bash", arguments: {} }] }) });
    session.append({ type: "message", message: { role: "toolResult", toolCallId: "1", toolName: "bash", content: [], isError: false, timestamp: 0 } });
    session.append({ type: "message", message: { role: "bashExecution", command: "true", output: "", cancelled: false, truncated: false, timestamp: 0 } });
    session.append({ type: "usage", kind: "cache_warm", provider: "p", model: "m", usage });
    const { cost, ...rest } = session.stats();
    expect(rest).toEqual({ userMessages: 1, assistantMessages: 1, toolCalls: 2, toolResults: 1, totalMessages: 4, tokens: { input: 20, output: 10, cacheRead: 4, cacheWrite: 2, total: 36 } });
    expect(cost).toBeCloseTo(0.6);
  });
});

describe("the last answer's text", () => {
  const last = (...messages: ReturnType<typeof assistant>[]): string | null => {
    const session = create({ dir: null });
    for (const message of messages) session.append({ type: "message", message });
    return session.lastAssistantText();
  };

  test("is null without an answer", () => expect(last(user("q"))).toBeNull());
  test("passes over aborted, failed and tool-only ones without text", () => {
    const call = { stopReason: "toolUse", content: [{ type: "toolCall", id: "1", name: "ls", arguments: {} }] };
    expect(last(assistant("said"), assistant("", call), assistant("", { stopReason: "aborted" }), assistant("", { stopReason: "error" }))).toBe("said");
  });
  test("is what an aborted answer had said", () => expect(last(assistant("said"), assistant("half", { stopReason: "aborted" }))).toBe("half"));
});

describe("pages of entries", () => {
  test("begin after an entry, end at a limit and say whether there is more", async () => {
    const session = create({ dir: null });
    const ids = ["a", "b", "c", "d"].map((text) => session.append({ type: "message", message: user(text) }).id);
    const page = async (since?: string, limit?: number): Promise<object> => {
      const { entries, ...rest } = await session.entries(since, limit);
      const { entries: pieces, ...same } = session.entriesJson(since, limit);
      expect(same).toEqual(rest);
      expect(JSON.parse(Buffer.concat([...pieces]).toString())).toEqual(entries);
      return { ids: entries.map(({ id }) => id), ...rest };
    };
    const leafId = ids[3]!;
    expect(await page()).toEqual({ ids, leafId });
    expect(await page(undefined, 3)).toEqual({ ids: ids.slice(0, 3), leafId, hasMore: true });
    expect(await page(ids[1], 2)).toEqual({ ids: ids.slice(2), leafId });
    expect(await page(leafId, 1)).toEqual({ ids: [], leafId });
    expect(page("none")).rejects.toThrow(new Refusal("not_found", "Entry not found: none"));
  });
});
