import { expect, test } from "bun:test";
import { KeyMode, bytesOfKeys } from "../../src/process/keys.ts";

test("keys are what a terminal sends for them", () => {
  expect(bytesOfKeys(["ENTER", "TAB", "ESCAPE", "CTRL_C", "CTRL_D"], false)).toBe("\r\t\x1b\x03\x04");
  expect(bytesOfKeys(["UP", "DOWN", "LEFT", "RIGHT"], false)).toBe("\x1b[A\x1b[B\x1b[D\x1b[C");
});

test("arrows change their form while a full-screen program has asked for it", () => {
  const mode = new KeyMode();
  const arrows = (output: string) => {
    mode.push(Buffer.from(output));
    return bytesOfKeys(["UP"], mode.isApplicationMode);
  };
  expect([arrows("text"), arrows("\x1b[?1h\x1b=screen"), arrows("more"), arrows("\x1b[?"), arrows("1l\x1b>")]).toEqual(["\x1b[A", "\x1bOA", "\x1bOA", "\x1bOA", "\x1b[A"]);
  expect(arrows("\x1b[?1h on and off \x1b[?1l")).toBe("\x1b[A");
});
