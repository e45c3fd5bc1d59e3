import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fs from "node:fs";
import path from "node:path";
import { Refusal } from "../../src/base/refusal.ts";
import { findSession, newestSession } from "../../src/session/find.ts";
import { listSessions, type SessionPlaces } from "../../src/session/list.ts";
import { fileName, folderName } from "../../src/session/place.ts";
import { Session } from "../../src/session/session.ts";
import { Sandbox } from "../support/sandbox.ts";
import { assistant, entry, header, idOf, message, put, talk, TIME, user } from "./made.ts";

let box: Sandbox;
let places: SessionPlaces;
beforeEach(() => {
  box = new Sandbox();
  places = { root: path.join(box.dir, "sessions") };
});
afterEach(() => box[Symbol.dispose]());

/** A session of a working directory in the folder where it belongs, last written at `seconds`. */
function session(id: string, cwd: string, seconds: number, records = talk(["question", "answer"], { id, cwd })): string {
  const file = put(path.join(places.dir ?? path.join(places.root, folderName(cwd)), fileName(TIME, id)), records);
  fs.utimesSync(file, seconds, seconds);
  return file;
}
const seconds = Date.parse(TIME) / 1000 + 1000;

describe("the list", () => {
  test("tells what is in section 6, newest first, of a folder or of all", async () => {
    session("a", "/home/one", seconds);
    const b = session("b", "/home/two", seconds + 2);
    session("c", "/home/one", seconds + 1, [...talk(["first", "second", "third"], { id: "c", cwd: "/home/one" }), entry("0000000a", idOf(3), { type: "session_info", name: " old " }), entry("0000000b", "0000000a", { type: "session_info", name: "named\u2028 " })]);
    expect((await listSessions(places, "/home/one")).map(({ id }) => id)).toEqual(["c", "a"]);
    const all = await listSessions(places);
    expect(all.map(({ id, name, messageCount, firstMessage }) => ({ id, name, messageCount, firstMessage }))).toEqual([
      { id: "b", name: undefined, messageCount: 2, firstMessage: "question" },
      { id: "c", name: "named", messageCount: 3, firstMessage: "first" },
      { id: "a", name: undefined, messageCount: 2, firstMessage: "question" },
    ]);
    expect(all[0]!).toEqual({ path: b, id: "b", cwd: "/home/two", firstMessage: "question", messageCount: 2, createdAt: Date.parse(TIME), modifiedAt: (seconds + 2) * 1000, size: fs.statSync(b).size });
  });

  test("is empty where nothing is", async () => {
    expect(await listSessions(places)).toEqual([]);
    expect(await listSessions({ root: "/none", dir: "/none/either" }, "/work")).toEqual([]);
  });

  test("leaves out what is no session, and shows a name that was taken away no more", async () => {
    put(path.join(places.root, "--x--", "notes.jsonl"), ['{"type":"note"}']);
    put(path.join(places.root, "--x--", "empty.jsonl"), [], "");
    put(path.join(places.root, "--x--", "other.txt"), talk(["q"]));
    fs.mkdirSync(path.join(places.root, "--x--", "folder.jsonl"));
    if (process.platform !== "win32") Bun.spawnSync(["mkfifo", path.join(places.root, "--x--", "pipe.jsonl")]);
    put(path.join(places.root, "--x--", "made.jsonl"), [...talk(["q"]), entry("0000000a", idOf(1), { type: "session_info", name: "x" }), entry("0000000b", "0000000a", { type: "session_info", name: "" })]);
    const all = await listSessions(places);
    expect(all.map(({ path: file, name }) => [path.basename(file), name])).toEqual([["made.jsonl", undefined]]);
  });

  test("counts what opening would find, in files of any hand and with damage", async () => {
    const spaced = (record: object): string => JSON.stringify(record, null, 1).replaceAll("\n", " ");
    const files = [
      put(path.join(places.root, "--x--", "spaced.jsonl"), talk(["q", "a", "r"]).map(spaced)),
      put(path.join(places.root, "--x--", "system.jsonl"), [header(), message("0000000a", null, { role: "system", content: "" }), message("0000000b", "0000000a", user("q")), message("0000000c", "0000000b", { role: "system", content: "" })]),
      put(path.join(places.root, "--x--", "crlf.jsonl"), talk(["q", "a", "r", "b"]).map((record) => `${JSON.stringify(record)}\r`)),
      put(path.join(places.root, "--x--", "torn.jsonl"), [...talk(["q", "a"]), '{"type":"message","id":"0000000c","mess', JSON.stringify(message("0000000d", idOf(2), user("more"))), '{"type":"message","id":"0000000e"'], ""),
      put(path.join(places.root, "--x--", "old.jsonl"), [header({ version: undefined }), { type: "message", timestamp: TIME, message: user("q") }, { type: "message", timestamp: TIME, message: assistant("a") }]),
      put(path.join(places.root, "--x--", "long.jsonl"), talk(["x".repeat(700_000), "y".repeat(300_000), "z"])),
    ];
    const listed = new Map((await listSessions(places)).map((one) => [one.path, one.messageCount]));
    for (const file of files) {
      const opened = await Session.open(file);
      expect([file, listed.get(file)]).toEqual([file, opened.messages().length]);
      opened.close();
    }
  });

  test("cuts a long first message", async () => {
    session("a", "/work", seconds, talk(["word ".repeat(1000)], { id: "a", cwd: "/work" }));
    expect((await listSessions(places))[0]!.firstMessage).toHaveLength(501);
  });

  test("sees what was added since", async () => {
    const file = session("a", "/work", seconds);
    await listSessions(places);
    fs.appendFileSync(file, `${JSON.stringify(message("0000000c", idOf(2), user("more")))}\n`);
    expect((await listSessions(places))[0]!.messageCount).toBe(3);
  });

  test("keeps working directories apart that share a folder", async () => {
    session("a", "/home/a/b", seconds);
    session("b", "/home/a-b", seconds + 1);
    expect((await listSessions(places, "/home/a/b")).map(({ id }) => id)).toEqual(["a"]);
    expect(newestSession(places, "/home/a/b")).toContain("_a.jsonl");
  });

  test("of one folder for all takes those of the working directory", async () => {
    places.dir = path.join(box.dir, "flat");
    session("a", "/home/one", seconds);
    session("b", "/home/two", seconds + 1);
    expect((await listSessions(places, "/home/one")).map(({ id }) => id)).toEqual(["a"]);
    expect((await listSessions(places)).map(({ id }) => id)).toEqual(["b", "a"]);
    expect(newestSession(places, "/home/one")).toContain("_a.jsonl");
  });
});

describe("the newest", () => {
  test("is the one that was written last, and one that is a session", async () => {
    session("a", "/work", seconds + 1);
    session("b", "/work", seconds);
    session("c", "/elsewhere", seconds + 2);
    fs.utimesSync(put(path.join(places.root, folderName("/work"), "broken.jsonl"), ["no session"]), seconds + 5, seconds + 5);
    expect(newestSession(places, "/work")).toBe(path.join(places.root, folderName("/work"), fileName(TIME, "a")));
    expect(newestSession(places, "/nowhere")).toBeUndefined();
  });
});

describe("a session is found", () => {
  test("by its path, absolute or from the working directory", () => {
    const file = session("a", "/work", seconds);
    expect(findSession(file, places, "/work")).toBe(file);
    expect(findSession(path.relative(box.cwd, file), places, box.cwd)).toBe(file);
    expect(() => findSession("./none.jsonl", places, box.cwd)).toThrow(new Refusal("not_found", `Session file not found: ${path.join(box.cwd, "none.jsonl")}`));
  });

  test("by its id or the beginning of it, in this folder first", () => {
    const here = session("abc-1", "/work", seconds);
    const there = session("abd-2", "/elsewhere", seconds);
    expect(findSession("abc-1", places, "/work")).toBe(here);
    expect(findSession("ab", places, "/work")).toBe(here);
    expect(findSession("abd", places, "/work")).toBe(there);
  });

  test("by a whole id though others begin with it", () => {
    const file = session("abc", "/work", seconds);
    session("abcd", "/work", seconds);
    expect(findSession("abc", places, "/work")).toBe(file);
  });

  test("by the id in its header when its name does not tell it", () => {
    const file = put(path.join(places.root, "--x--", "made.jsonl"), talk(["q"], { id: "inside" }));
    expect(findSession("insi", places, "/work")).toBe(file);
  });

  test("not in a file that a kill left empty, and its id is free again", () => {
    put(path.join(places.root, folderName("/work"), fileName(TIME, "chosen")), [], "");
    expect(() => findSession("chosen", places, "/work")).toThrow(Refusal);
    const made = Session.create({ cwd: "/work", dir: path.join(places.root, folderName("/work")), id: "chosen" });
    expect(findSession("chosen", places, "/work")).toBe(made.file!);
    made.close();
  });

  test("not when several could be meant, and they are named", () => {
    const files = [session("abc-1", "/work", seconds), session("abc-2", "/work", seconds)];
    expect(() => findSession("abc", places, "/work")).toThrow(new Refusal("invalid", `2 sessions begin with "abc"; give more of the id or the path:\n  ${files.join("\n  ")}`));
  });

  test("not when there is none", () => {
    session("a", "/work", seconds);
    for (const value of ["zzz", "a*", ""]) expect(() => findSession(value, places, "/work")).toThrow(Refusal);
  });
});

test("5 000 files are listed in little time", async () => {
  for (let folder = 0; folder < 20; folder++) fs.mkdirSync(path.join(places.root, folderName(`/home/${folder}`)), { recursive: true });
  for (let i = 0; i < 5000; i++) {
    const cwd = `/home/${i % 20}`;
    const text = talk(["question", "answer"], { id: `id${i}`, cwd }).map((record) => `${JSON.stringify(record)}\n`);
    fs.writeFileSync(path.join(places.root, folderName(cwd), fileName(TIME, `id${i}`)), text.join(""));
  }
  const start = performance.now();
  const all = await listSessions(places);
  const tookMs = performance.now() - start;
  expect(all.length).toBe(5000);
  // A fifth of a second where nothing else runs.
  expect(tookMs).toBeLessThan(3000);
}, 30_000);
