import { expect, test } from "bun:test";
import { fileName, folderName, sessionFolder } from "../../src/session/place.ts";

test("a working directory has a folder that is named after it, as pi names it", () => {
  expect(["/home/me/work", "/", "C:\\Users\\me", "/a:b", "relative", "/with space/ü"].map(folderName)).toEqual(["--home-me-work--", "----", "--C--Users-me--", "--a-b--", "--relative--", "--with space-ü--"]);
  expect(sessionFolder("/home/me/.pi/agent", "/home/me/work")).toBe("/home/me/.pi/agent/sessions/--home-me-work--");
});

test("a file is named after the time and the id", () => {
  expect(fileName("2025-06-01T10:00:00.123Z", "an.id")).toBe("2025-06-01T10-00-00-123Z_an.id.jsonl");
});
