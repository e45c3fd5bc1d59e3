import { expect, test } from "bun:test";
import { RawJson } from "../../src/base/json.ts";
import { echoed, failureText, readLine, successText } from "../../src/rpc/frames.ts";

const read = (text: string) => readLine(Buffer.from(text));

test("a line that is no JSON object has a fault and no id", () => {
  for (const line of ["ls", '{"type":', "42", "[]", "null", "true", '"x"', "", "   ", '{"id":"a"}{"id":"b"}', "{\u000b}"]) {
    expect(read(line)).toEqual({ fault: expect.any(String), id: undefined });
  }
});

test("bytes that are not UTF-8 are a fault", () => {
  for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80]]) {
    const line = Buffer.concat([Buffer.from('{"type":"'), Buffer.from(bytes), Buffer.from('"}')]);
    expect(readLine(line)).toEqual({ fault: "the line is not valid UTF-8", id: undefined });
  }
});

test("a missing type keeps a usable id", () => {
  expect(read('{"id":"z"}')).toEqual({ fault: 'missing string field "type"', id: '"z"' });
  expect(read('{"id":7,"type":5}')).toEqual({ fault: 'missing string field "type"', id: "7" });
  expect(read('{"id":{},"type":5}')).toEqual({ fault: 'missing string field "type"', id: undefined });
  expect(read('{"__proto__":{"type":"abort","id":"x"}}')).toEqual({ fault: 'missing string field "type"', id: undefined });
});

test("a number comes back as it was written", () => {
  for (const id of ["7", "-1", "2.5", "0", "12345678901234567890", "1e400"]) {
    expect(read(`{"a":{"id":3},"id":${id},"type":"x","b":[{"id":4}]}`)).toMatchObject({ id, badId: false });
  }
});

test("null is no id, and any other kind is a bad one", () => {
  expect(read('{"id":null,"type":"x"}')).toMatchObject({ id: undefined, badId: false });
  for (const id of ["{}", "[1]", "true", "false"]) expect(read(`{"id":${id},"type":"x"}`)).toMatchObject({ id: undefined, badId: true });
});

test("a success carries data, null when there is none", () => {
  expect(successText('"a"', "abort", undefined)).toBe('{"id":"a","type":"response","command":"abort","success":true,"data":null}');
  expect(successText(undefined, "get_tree", new RawJson("[1]"))).toBe('{"type":"response","command":"get_tree","success":true,"data":[1]}');
});

test("data that is bytes already goes through as it is", () => {
  const pieces = successText("7", "get_entries", new RawJson([Buffer.from("[1,"), Buffer.from("2]")])) as Uint8Array[];
  expect(Buffer.concat(pieces).toString()).toBe('{"id":7,"type":"response","command":"get_entries","success":true,"data":[1,2]}');
});

test("a failure carries its words and its code", () => {
  expect(JSON.parse(failureText("12", "x", "busy", 'not "now"'))).toEqual({ id: 12, type: "response", command: "x", success: false, error: 'not "now"', code: "busy" });
});

test("a long type is cut between characters at 256 bytes", () => {
  expect(echoed("x".repeat(256))).toBe("x".repeat(256));
  for (const letter of ["x", "é", "漢", "😀"]) {
    const shown = echoed(letter.repeat(300));
    expect(shown).toBe(`${letter.repeat(Math.floor(256 / Buffer.byteLength(letter)))}…`);
  }
});
