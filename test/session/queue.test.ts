import { afterEach, beforeEach, expect, test } from "bun:test";
import path from "node:path";
import type { EntryBody } from "../../src/session/entry.ts";
import { Session } from "../../src/session/session.ts";
import { Sandbox } from "../support/sandbox.ts";
import { assistant, entry, header, idOf, message, put, talk, user } from "./made.ts";

let box: Sandbox;
beforeEach(() => void (box = new Sandbox()));
afterEach(() => box[Symbol.dispose]());

const add = (content: string, more: object = {}): EntryBody => ({ type: "queue", op: "add", kind: "steer", content, ...more }) as EntryBody;
const waiting = (session: Session): unknown[] => session.pendingQueue().map(({ content }) => content);

test("what was accepted waits until it is delivered or cleared, before and after the session is opened again", async () => {
  const session = Session.create({ cwd: "/", dir: box.dir });
  const [one, two, three] = ["one", "two", "three"].map((text) => session.append(add(text, text === "two" ? { kind: "followUp", requestId: 7 } : {})));
  expect(session.pendingQueue()).toEqual([{ id: one!.id, kind: "steer", content: "one" }, { id: two!.id, kind: "followUp", content: "two", requestId: 7 }, { id: three!.id, kind: "steer", content: "three" }]);
  session.append({ type: "message", message: user("one"), queueId: one!.id });
  session.append({ type: "queue", op: "clear", ids: [three!.id] });
  expect(waiting(session)).toEqual(["two"]);
  const before = session.pendingQueue();
  session.close();
  const again = await Session.open(session.file!);
  expect(again.pendingQueue()).toEqual(before);
  again.append({ type: "message", message: user("two"), queueId: two!.id });
  expect(again.pendingQueue()).toEqual([]);
  again.close();
});

test("what waits keeps its images", () => {
  const session = Session.create({ cwd: "/", dir: null });
  const content = [{ type: "text" as const, text: "look" }, { type: "image" as const, data: "AAAA", mimeType: "image/png" }];
  session.append({ type: "queue", op: "add", kind: "followUp", content });
  expect(waiting(session)).toEqual([content]);
});

test("a message is delivered once, in whatever order a damaged file has it, and though it has it twice", async () => {
  const queued = entry("0000000a", null, add("wanted"));
  const delivered = { ...message("0000000b", null, user("wanted")), queueId: "0000000a" };
  for (const records of [[queued, delivered], [delivered, queued], [queued, delivered, queued]]) {
    const session = await Session.open(put(path.join(box.dir, "made.jsonl"), [header(), ...records]));
    expect(waiting(session)).toEqual([]);
    session.close();
  }
});

test("what is delivered on a branch that was left is delivered", async () => {
  const session = await Session.open(put(path.join(box.dir, "made.jsonl"), [
    ...talk(["q", "a"]),
    entry("0000000a", idOf(2), add("wanted")),
    { ...message("0000000b", idOf(2), user("wanted")), queueId: "0000000a" },
    message("0000000c", idOf(1), assistant("elsewhere")),
  ]));
  expect(waiting(session)).toEqual([]);
  session.close();
});

test("queue entries of odd shapes wait for nothing", async () => {
  const odd = [{ op: "add" }, { op: "add", kind: "later", content: "x" }, { op: "add", kind: "steer", content: 5 }, { op: "clear" }, { op: "clear", ids: "x" }, { op: "other" }, {}];
  const session = await Session.open(put(path.join(box.dir, "made.jsonl"), [header(), ...odd.map((body, i) => entry(idOf(i + 1), null, { type: "queue", ...body }))]));
  expect(waiting(session)).toEqual([]);
  session.close();
});
