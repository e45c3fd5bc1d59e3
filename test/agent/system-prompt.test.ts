import { describe, expect, test } from "bun:test";
import { buildSystemPrompt } from "../../src/agent/system-prompt.ts";

const parts = { cwd: "/w", tools: [{ name: "read", snippet: "Read a file" }, { name: "bash", snippet: "Run a command" }], contextFiles: [{ path: "/w/AGENTS.md", content: "Be brief.\n" }] };

describe("the system prompt", () => {
  test("is short, lists the active tools, and ends with context files and the folder", () => {
    const prompt = buildSystemPrompt(parts);
    expect(prompt).toStartWith("You are rpi, a coding agent.");
    expect(prompt).toContain("\n- read: Read a file\n- bash: Run a command\n");
    expect(prompt).toEndWith("Instructions from /w/AGENTS.md:\n\n<instructions>\nBe brief.\n</instructions>\n\nThe working folder is /w. Relative paths start there.");
    expect(prompt.length).toBeLessThan(1500);
  });

  test("is the same for the same parts, and names no tool that is not active", () => {
    expect(buildSystemPrompt(parts)).toBe(buildSystemPrompt(parts));
    const without = buildSystemPrompt({ ...parts, tools: [] });
    expect(without).toContain("You have no tools in this session");
    expect(without).not.toContain("bash");
  });

  test("can be replaced and extended; context files and folder stay", () => {
    expect(buildSystemPrompt({ ...parts, replacement: "You are a test.", additions: ["One more rule.", "And one."] })).toBe(
      "You are a test.\n\nOne more rule.\n\nAnd one.\n\nInstructions from /w/AGENTS.md:\n\n<instructions>\nBe brief.\n</instructions>\n\nThe working folder is /w. Relative paths start there.",
    );
  });
});
