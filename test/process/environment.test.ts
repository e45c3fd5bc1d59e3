import { expect, test } from "bun:test";
import { childEnvironment } from "../../src/process/environment.ts";

const base = { PATH: "/bin", KEY: "secret", PAGER: "less", GIT_TERMINAL_PROMPT: "1", GONE: undefined };

test("a child gets rpi's environment without what is hidden, with its mark, and asks no questions", () => {
  const env = childEnvironment({ base, hidden: new Set(["KEY"]), isQuiet: true, mark: ["MARK", "1"] });
  expect(env).toMatchObject({ PATH: "/bin", PAGER: "cat", GIT_PAGER: "cat", GIT_TERMINAL_PROMPT: "0", GIT_EDITOR: "true", MARK: "1" });
  expect(["KEY" in env, "GONE" in env]).toEqual([false, false]);
});

test("with a terminal pagers and questions are left as they are", () => {
  expect(childEnvironment({ base, hidden: new Set(["KEY"]), isQuiet: false, mark: ["MARK", "1"] })).toEqual({ PATH: "/bin", PAGER: "less", GIT_TERMINAL_PROMPT: "1", MARK: "1" });
});

test("the caller's overlay comes last but for the mark, and null removes", () => {
  const env = childEnvironment({ base, hidden: new Set(["KEY"]), isQuiet: true, overlay: { PAGER: "more", PATH: null, NEW: "x", MARK: null }, mark: ["MARK", "1"] });
  expect(env).toMatchObject({ PAGER: "more", NEW: "x", MARK: "1" });
  expect("PATH" in env).toBe(false);
});
