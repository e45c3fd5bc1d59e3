import { expect, test } from "bun:test";
import { helpText } from "../../src/cli/help.ts";
import { durationMs, parseCommandLine, UsageError } from "../../src/settings/flags.ts";

const fault = (...argv: string[]): string => {
  try {
    parseCommandLine(argv);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error(`${argv.join(" ")} was accepted`);
};

test("flags stand on both sides of the word, in every form", () => {
  expect(parseCommandLine(["--no-session", "rpc", "-m", "p/x:high", "--name=a=b", "-nc", "-xt", "bash,write"])).toEqual({
    flags: { "no-session": true, model: "p/x:high", name: "a=b", "no-context-files": true, "exclude-tools": "bash,write" },
    words: ["rpc"],
    unknown: [],
  });
});

test("a flag that repeats is a list, another one keeps the last value", () => {
  const { flags } = parseCommandLine(["--append-system-prompt", "one", "--append-system-prompt", "two", "--model", "a", "--model", "b"]);
  expect(flags).toEqual({ "append-system-prompt": ["one", "two"], model: "b" });
});

test("what only a terminal UI honours is accepted", () => {
  expect(parseCommandLine(["--theme", "x.json", "--use-theme", "dark", "--no-themes", "--no-mcp", "--tui-mode", "regular"]).unknown).toEqual([]);
});

test("an unknown flag is told apart", () => {
  expect(parseCommandLine(["rpc", "--bogus=1", "-zz", "next"])).toEqual({ flags: {}, words: ["rpc", "next"], unknown: ["--bogus", "-zz"] });
  expect(parseCommandLine(["--constructor", "--nc"]).unknown).toEqual(["--constructor", "--nc"]);
});

test("what comes after -- is words, and so is a single dash", () => {
  expect(parseCommandLine(["-", "-m=x", "--", "--model", "-c"])).toEqual({ flags: { model: "x" }, words: ["-", "--model", "-c"], unknown: [] });
});

test("a bad value names the flag and what it takes", () => {
  expect(fault("--thinking", "huge")).toMatch(/^--thinking must be one of off, minimal/);
  expect(fault("--on-eof", "sometimes")).toMatch(/^--on-eof must be one of drain, abort/);
  expect(fault("--drain-timeout", "soon")).toMatch(/^--drain-timeout must be a duration/);
  expect(fault("--max-line-bytes", "0")).toMatch(/^--max-line-bytes must be/);
  expect(fault("--name", " ")).toBe('--name must be some text, not " "');
  expect(fault("--no-session=yes")).toBe("--no-session takes no value");
  expect(fault("-nc=")).toBe("--no-context-files takes no value");
});

test("a missing value is told, and a value like a flag has a way out", () => {
  expect(fault("--model")).toBe("--model needs a value <[provider/]id[:level]>");
  expect(fault("--name", "--no-session")).toBe('--name needs a value <name>; if "--no-session" is it, write --name=--no-session');
  expect(fault("--name", "-c")).toBe('--name needs a value <name>; if "-c" is it, write --name=-c');
  expect(fault("--resume")).toMatch(/rpi sessions/);
  expect(parseCommandLine(["--name=--odd"]).flags.name).toBe("--odd");
  expect(parseCommandLine(["--system-prompt", "-v is for verbose"]).flags["system-prompt"]).toBe("-v is for verbose");
});

test("flags that ask for two sessions at once contradict each other", () => {
  expect(fault("--fork", "a", "--session", "b")).toBe("--fork and --session contradict each other; give one of them");
  expect(fault("-c", "--no-session")).toMatch(/contradict/);
  expect(parseCommandLine(["--fork", "a", "--session-id", "b"]).flags).toEqual({ fork: "a", "session-id": "b" });
});

test("durations have units, digits alone are seconds", () => {
  expect(["500ms", "30s", "2m", "1h", "7", "0.5s", "soon", "-1s", "1d"].map(durationMs)).toEqual([500, 30_000, 120_000, 3_600_000, 7000, 500, undefined, undefined, undefined]);
});

test("the help names every flag", () => {
  const help = helpText();
  for (const name of ["--mode", "--drain-timeout", "--no-approve", "--tui-mode", "-xt,"]) expect(help).toContain(name);
});
