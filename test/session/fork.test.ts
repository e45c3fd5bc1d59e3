import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fs from "node:fs";
import path from "node:path";
import { Refusal } from "../../src/base/refusal.ts";
import { Session } from "../../src/session/session.ts";
import { Sandbox } from "../support/sandbox.ts";
import { assistant, entry, idOf, message, put, recordsOf, talk, textsOf, user } from "./made.ts";

let box: Sandbox;
let file: string;
let open: Session[];
beforeEach(() => {
  box = new Sandbox();
  file = path.join(box.dir, "source.jsonl");
  open = [];
});
afterEach(() => {
  for (const session of open) session.close();
  box[Symbol.dispose]();
});

async function source(records: (object | string)[]): Promise<Session> {
  const session = await Session.open(put(file, records));
  open.push(session);
  return session;
}
async function fork(of: Session | string, leafId?: string | null): Promise<Session> {
  const session = await Session.fork(of, { cwd: "/new/place", dir: path.join(box.dir, "forks"), ...(leafId !== undefined && { leafId }) });
  open.push(session);
  return session;
}
const before = (session: Session, text: string): string | null => session.forkPoint(session.forkMessages().find((one) => one.text === text)!.entryId).leafId;

describe("a fork", () => {
  test("has the branch up to before a user message, in a file of its own that is there at once", async () => {
    const from = await source(talk(["one", "1", "two", "2"]));
    const untouched = fs.readFileSync(file, "utf8");
    const made = await fork(from, before(from, "two"));
    expect(textsOf(made.messages())).toEqual(["one", "1"]);
    const [head, ...entries] = recordsOf(made.file!);
    expect(head).toEqual({ type: "session", version: 3, id: made.id, timestamp: made.createdAt, cwd: "/new/place", parentSession: file });
    expect(entries as object[]).toEqual(talk(["one", "1"]).slice(1));
    made.append({ type: "message", message: user("other") });
    expect(recordsOf(made.file!).at(-1)!.parentId).toBe(idOf(2));
    expect(fs.readFileSync(file, "utf8")).toBe(untouched);
  });

  test("before the first message is empty", async () => {
    const from = await source(talk(["one", "1"]));
    const made = await fork(from, before(from, "one"));
    expect([made.messages(), recordsOf(made.file!).length, made.leafId]).toEqual([[], 1, null]);
  });

  test("can start before messages of other branches and compacted ones", async () => {
    const from = await source([
      ...talk(["one", "1", "two", "2"]),
      entry("0000000f", idOf(4), { type: "compaction", summary: "S", firstKeptEntryId: "0000000f", tokensBefore: 1 }),
      message("00000010", idOf(2), user("other")),
    ]);
    expect(from.forkMessages()).toEqual([{ entryId: idOf(1), text: "one" }, { entryId: idOf(3), text: "two" }, { entryId: "00000010", text: "other" }]);
    expect(textsOf((await fork(from, before(from, "two"))).messages())).toEqual(["one", "1"]);
  });

  test("starts at user messages only", async () => {
    const from = await source(talk(["one", "1"]));
    expect(from.forkPoint(idOf(1))).toEqual({ text: "one", leafId: null });
    expect(() => from.forkPoint("deadbeef")).toThrow(new Refusal("not_found", "Entry not found: deadbeef"));
    expect(() => from.forkPoint(idOf(2))).toThrow(Refusal);
    expect(fork(from, "deadbeef")).rejects.toThrow(Refusal);
    expect(fs.existsSync(path.join(box.dir, "forks"))).toBe(false);
  });
});

describe("a clone", () => {
  test("has the active branch and nothing else, its plan, name, model and level too", async () => {
    const from = await source(talk(["one", "1", "astray", "far"]));
    from.append({ type: "message", message: user("kept") });
    for (const body of [
      { type: "model_change", provider: "p", modelId: "m" },
      { type: "thinking_level_change", thinkingLevel: "low" },
      { type: "todo_snapshot", state: { phases: ["plan"] } },
      { type: "session_info", name: "named" },
    ] as const) from.append(body);
    const made = await fork(from);
    expect([textsOf(made.messages()), made.todos(), made.name, made.modelChoice(), made.thinkingLevel(), made.leafId]).toEqual([["one", "1", "astray", "far", "kept"], { phases: ["plan"] }, "named", { provider: "p", modelId: "m" }, "low", from.leafId]);
    expect(made.stats()).toEqual(from.stats());
  });

  test("leaves queued messages where they wait", async () => {
    const from = await source(talk(["one", "1"]));
    from.append({ type: "queue", op: "add", kind: "steer", content: "waits" });
    const made = await fork(from);
    expect([made.pendingQueue(), recordsOf(made.file!).length, from.pendingQueue().length]).toEqual([[], 3, 1]);
  });

  test("carries the labels of what it copies, and no others", async () => {
    const from = await source([...talk(["one", "1"]), message("0000000a", null, user("elsewhere")), message("0000000b", idOf(2), user("two"))]);
    from.append({ type: "label", targetId: idOf(1), label: "first" });
    from.append({ type: "label", targetId: idOf(2), label: "gone" });
    from.append({ type: "label", targetId: idOf(2) });
    from.append({ type: "label", targetId: "0000000a", label: "not copied" });
    const made = await fork(from);
    expect(made.flatTree().filter(({ type }) => type === "message").map(({ id, label }) => [id, label])).toEqual([[idOf(1), "first"], [idOf(2), undefined], ["0000000b", undefined]]);
    expect(made.leafId).toBe("0000000b");
  });

  test("is whole where pi chained entries below labels, also for a compaction that keeps from one", async () => {
    const from = await source([
      ...talk(["one", "1"]),
      entry("0000000a", idOf(2), { type: "label", targetId: idOf(1), label: "x" }),
      message("0000000b", "0000000a", user("two")),
      entry("0000000c", "0000000b", { type: "compaction", summary: "S", firstKeptEntryId: "0000000a", tokensBefore: 1 }),
    ]);
    const made = await fork(from);
    expect([textsOf(from.messages()), textsOf(made.messages())]).toEqual([["S", "two"], ["S", "two"]]);
    made.close();
    const again = await Session.open(made.file!);
    open.push(again);
    expect([textsOf(again.messages()), again.notices]).toEqual([["S", "two"], []]);
  });

  test("of a damaged file is a sound one, and tells of the damage", async () => {
    await source([...talk(["one", "1"]), "{bad", message(idOf(1), idOf(2), user("doubled")), message("0000000b", "deadbeef", user("orphan")), message("0000000c", "0000000b", assistant("leaf"))]);
    const made = await fork(file);
    expect([textsOf(made.messages()), made.notices.map(({ code }) => code)]).toEqual([["orphan", "leaf"], ["session_bad_lines", "session_repaired"]]);
    made.close();
    const again = await Session.open(made.file!);
    open.push(again);
    expect(again.notices).toEqual([]);
  });

  test("that cannot be written whole is taken away", async () => {
    const from = await source(talk(["one", "1"]));
    fs.writeFileSync(path.join(box.dir, "forks"), "a file is in the way");
    expect(fork(from)).rejects.toThrow(/Cannot write the session file/);
    expect(textsOf(from.messages())).toEqual(["one", "1"]);
  });
});
