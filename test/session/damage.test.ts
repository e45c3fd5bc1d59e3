import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fs from "node:fs";
import path from "node:path";
import { Refusal } from "../../src/base/refusal.ts";
import { Session } from "../../src/session/session.ts";
import { Sandbox } from "../support/sandbox.ts";
import { assistant, entry, header, idOf, message, put, recordsOf, talk, textsOf, user } from "./made.ts";

let box: Sandbox;
let file: string;
beforeEach(() => {
  box = new Sandbox();
  file = path.join(box.dir, "made.jsonl");
});
afterEach(() => box[Symbol.dispose]());

/** Opens what stands in the file, appends a message, and checks that nothing that stood there was touched. */
async function continued(): Promise<{ shown: string[]; codes: string[]; again: string[]; ids: string[]; parents: (string | null)[] }> {
  const before = fs.readFileSync(file);
  const session = await Session.open(file);
  const { entries } = await session.entries();
  const found = { shown: textsOf(session.messages()), codes: session.notices.map(({ code }) => code), ids: entries.map(({ id }) => id), parents: entries.map(({ parentId }) => parentId) };
  session.append({ type: "message", message: user("more") });
  session.close();
  expect(fs.readFileSync(file).subarray(0, before.length).equals(before)).toBe(true);
  const reopened = await Session.open(file);
  const again = textsOf(reopened.messages());
  reopened.close();
  return { ...found, again };
}

describe("a line", () => {
  test("that is torn at the end is set aside, and the file goes on from a fresh line", async () => {
    put(file, [...talk(["q", "a"]), '{"type":"message","id":"00000003","parentId":"000'], "");
    const { shown, codes, again } = await continued();
    expect([shown, codes, again]).toEqual([["q", "a"], ["session_torn_line"], ["q", "a", "more"]]);
  });

  test("that another program has cut since is not glued to what is written next", async () => {
    put(file, talk(["q", "a"]));
    const session = await Session.open(file);
    fs.truncateSync(file, fs.statSync(file).size - 10);
    session.append({ type: "message", message: user("next") });
    fs.truncateSync(file, fs.statSync(file).size - 10);
    session.append({ type: "message", message: user("and one more") });
    session.close();
    const again = await Session.open(file);
    expect((await again.entries()).entries.map(({ type }) => type)).toEqual(["message", "message"]);
    expect(again.notices.map(({ code }) => code)).toEqual(["session_bad_lines", "session_repaired"]);
    again.close();
  });

  test("that only lacks its end is an entry", async () => {
    put(file, talk(["q", "a"]), "");
    expect(await continued()).toMatchObject({ shown: ["q", "a"], codes: [], again: ["q", "a", "more"] });
    expect(recordsOf(file)).toHaveLength(4);
  });

  test.each<[string, string | Buffer]>([
    ["no JSON", "{this is no json"],
    ["cut off", '{"type":"message","id":"0000000a","par'],
    ["two records", `${JSON.stringify(message("0000000a", null, user("x")))}${JSON.stringify(message("0000000b", null, user("y")))}`],
    ["NULs", "\0\0\0\0\0\0"],
    ["no UTF-8", Buffer.from('{"type":"custom","id":"0000000a","parentId":null,"data":"\xff"}', "latin1")],
    ["no object", '"text"'],
    ["null", "null"],
    ["an array", "[1,2]"],
    ["without a type", '{"id":"0000000a","parentId":null}'],
  ])("in the middle that is skipped and told: %s", async (_, bad) => {
    const [head, first, ...rest] = talk(["q", "a"]).map((record) => JSON.stringify(record));
    fs.writeFileSync(file, Buffer.concat([Buffer.from(`${head}\n${first}\n`), Buffer.from(bad as string), Buffer.from(`\n${rest.join("\n")}\n`)]));
    expect(await continued()).toMatchObject({ shown: ["q", "a"], codes: ["session_bad_lines"], again: ["q", "a", "more"] });
  });

  test("that is blank is passed over, and white space around records does not matter", async () => {
    fs.writeFileSync(file, `\ufeff${talk(["q", "a"]).map((record) => `  ${JSON.stringify(record, null, 1).replaceAll("\n", "")}\t\r\n \r\n`).join("\n")}`);
    expect(await continued()).toMatchObject({ shown: ["q", "a"], codes: [], again: ["q", "a", "more"] });
  });

  test("that goes over two lines takes none of its neighbours with it", async () => {
    const [head, first, second] = talk(["q", "a"]).map((record) => JSON.stringify(record));
    put(file, [head!, first!, '{"type":"x","list":[1', ",2]}", second!]);
    expect(await continued()).toMatchObject({ ids: [idOf(1), idOf(2)], codes: ["session_bad_lines"] });
  });
});

describe("the tree", () => {
  test("gives the later of two entries with one id a fresh one, and what follows it follows it", async () => {
    put(file, [...talk(["q", "a"]), message(idOf(1), idOf(2), user("again")), message("0000000a", idOf(1), assistant("follows"))]);
    const { shown, codes, again, ids, parents } = await continued();
    expect([shown, codes, again]).toEqual([["q", "a", "again", "follows"], ["session_repaired"], ["q", "a", "again", "follows", "more"]]);
    expect(new Set(ids).size).toBe(4);
    expect(parents).toEqual([null, idOf(1), idOf(2), ids[2]!]);
  });

  test("keeps the fresh ids from one opening to the next", async () => {
    put(file, [...talk(["q", "a"]), message(idOf(1), idOf(2), user("again"))]);
    const { ids, again } = await continued();
    expect(again).toEqual(["q", "a", "again", "more"]);
    expect(await continued()).toMatchObject({ ids: [...ids, expect.any(String)], again: ["q", "a", "again", "more", "more"] });
    // For programs that take the later one of two.
    expect(recordsOf(file)[4]!.parentId).toBe(idOf(1));
  });

  test("of a file that stands twice in itself is that of the second time", async () => {
    const once = [...talk(["q", "a", "r", "b"]), entry("0000000c", idOf(4), { type: "compaction", summary: "S", firstKeptEntryId: idOf(3), tokensBefore: 1 })];
    put(file, [...once, ...once]);
    expect(await continued()).toMatchObject({ shown: ["S", "r", "b"], codes: ["session_repaired"], again: ["S", "r", "b", "more"] });
  });

  test("is cut where a parent is missing", async () => {
    put(file, [...talk(["q", "a"]), message("0000000a", "deadbeef", user("orphan")), message("0000000b", "0000000a", assistant("yes"))]);
    const { shown, codes, parents } = await continued();
    expect([shown, codes, parents]).toEqual([["orphan", "yes"], ["session_repaired"], [null, idOf(1), null, "0000000a"]]);
  });

  test("is cut where it bites its tail", async () => {
    put(file, [header(), message("0000000a", "0000000c", user("a")), message("0000000b", "0000000a", assistant("b")), message("0000000c", "0000000b", user("c")), message("0000000d", "0000000d", assistant("own parent"))]);
    const session = await Session.open(file);
    expect((await session.entries()).entries.map(({ id, parentId }) => [id, parentId])).toEqual([["0000000a", null], ["0000000b", "0000000a"], ["0000000c", "0000000b"], ["0000000d", null]]);
    expect(session.notices).toHaveLength(1);
    session.close();
  });

  test("is whole when lines stand in another order", async () => {
    const [head, ...entries] = talk(["q", "a", "r"]);
    put(file, [entries[2]!, entries[0]!, head!, entries[1]!]);
    expect(await continued()).toMatchObject({ codes: [], parents: [idOf(2), null, idOf(1)] });
  });

  test("takes entries of odd ids and parents as roots", async () => {
    put(file, [header(), { type: "custom", customType: "x" }, { type: "custom", customType: "x", id: 5, parentId: 7 }, { type: "custom", customType: "x", id: "", parentId: "" }]);
    const { ids, parents } = await continued();
    expect(new Set(ids).size).toBe(3);
    expect(parents).toEqual([null, null, null]);
  });

  test("of 50 000 entries that all have one id is made in reasonable time", async () => {
    put(file, [header(), ...Array.from({ length: 50_000 }, () => message("00000001", "00000001", user("x")))]);
    const session = await Session.open(file);
    expect(session.messages()).toHaveLength(50_000);
    session.close();
  });
});

describe("the header", () => {
  test("is needed", async () => {
    for (const records of [["not json", "nor this"], [...talk(["q", "a"]).slice(1)], [{ type: "session", cwd: "/" }], ["[]"]]) {
      put(file, records);
      expect(Session.open(file)).rejects.toThrow(new Refusal("invalid", `${file} is not a session file: it has no session header`));
    }
    fs.writeFileSync(file, "");
    expect(Session.open(file)).rejects.toThrow(new Refusal("invalid", `${file} is not a session file: it is empty`));
    expect(Session.open(box.dir)).rejects.toThrow(new Refusal("invalid", `${box.dir} is not a session file`));
    expect(Session.open(path.join(box.dir, "none.jsonl"))).rejects.toThrow(new Refusal("not_found", `Session file not found: ${path.join(box.dir, "none.jsonl")}`));
  });

  test("of a later version is told, and what is known of it is used", async () => {
    put(file, talk(["q", "a"], { version: 4, extra: true }));
    expect(await continued()).toMatchObject({ shown: ["q", "a"], codes: ["session_newer"], again: ["q", "a", "more"] });
  });

  test("that is damaged is made up for by the name of the file", async () => {
    file = path.join(box.dir, "2025-06-01T10-00-00-123Z_my-id.jsonl");
    put(file, ['{"type":"sess', ...talk(["q", "a"]).slice(1)]);
    const session = await Session.open(file);
    expect([session.id, session.createdAt, session.cwd, textsOf(session.messages()), session.notices.map(({ code }) => code)]).toEqual(["my-id", "2025-06-01T10:00:00.123Z", "", ["q", "a"], ["session_header", "session_bad_lines"]]);
    session.close();
  });
});
