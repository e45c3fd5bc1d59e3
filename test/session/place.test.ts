import { expect, test } from "bun:test";
import { fileName, folderName, sessionFolder } from "../../src/session/place.ts";

test("a working directory has a folder that is named after it, as pi names it", () => {
  expect(["/home/me/work", "/", "C:\\Users\\me", "/a:b", "relative", "/with space/ü"].map(folderName)).toEqual(["--home-me-work--", "----", "--C--Users-me--", "--a-b--", "--relative--", "--with space-ü--"]);
  expect(sessionFolder("/home/me/.pi/agent", "/home/me/work")).toBe("/home/me/.pi/agent/sessions/--home-me-work--");
});

test("the name of a folder is never longer than file systems take, and still tells working directories apart", () => {
  const [one, other, short] = ["/ü/one".padEnd(400, "ü"), "/ü/one".padEnd(401, "ü"), `/${"x".repeat(251)}`].map(folderName);
  expect(Buffer.byteLength(one!)).toBeLessThanOrEqual(255);
  expect(one).toMatch(/^--ü-oneü+-[0-9a-f]{16}--$/);
  expect(other).not.toBe(one!);
  expect(short).toBe(`--${"x".repeat(251)}--`);
});

test("a file is named after the time and the id", () => {
  expect(fileName("2025-06-01T10:00:00.123Z", "an.id")).toBe("2025-06-01T10-00-00-123Z_an.id.jsonl");
});
