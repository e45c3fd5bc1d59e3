import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { readContextFiles } from "../../src/agent/context-files.ts";

let box: string;
const put = (name: string, content: string | Uint8Array) => {
  const file = path.join(box, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, content);
  return file;
};
const read = (cwd = "work/sub") => {
  fs.mkdirSync(path.join(box, cwd), { recursive: true });
  const { files, notices } = readContextFiles({ agentDir: path.join(box, "agent"), cwd: path.join(box, cwd) });
  // What lies above the box is somebody else's.
  return { files: files.filter((file) => file.path.startsWith(box)).map(({ path: file, content }) => [path.relative(box, file), content]), notices };
};

beforeEach(() => { box = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "rpi-context-"))); });
afterEach(() => fs.rmSync(box, { recursive: true, force: true }));

describe("context files", () => {
  test("come from the agent folder, then from the root down to the working folder", () => {
    put("work/sub/AGENTS.md", "child");
    put("work/AGENTS.md", "parent");
    put("agent/AGENTS.md", "user");
    expect(read().files).toEqual([["agent/AGENTS.md", "user"], ["work/AGENTS.md", "parent"], ["work/sub/AGENTS.md", "child"]]);
  });

  test("are AGENTS.md, else CLAUDE.md, in each folder", () => {
    put("work/AGENTS.md", "agents");
    put("work/CLAUDE.md", "not this");
    put("work/sub/CLAUDE.md", "claude");
    expect(read().files).toEqual([["work/AGENTS.md", "agents"], ["work/sub/CLAUDE.md", "claude"]]);
  });

  test("are read once each, however they are reached", () => {
    put("agent/AGENTS.md", "user");
    fs.mkdirSync(path.join(box, "work/sub"), { recursive: true });
    fs.symlinkSync(path.join(box, "agent/AGENTS.md"), path.join(box, "work/sub/AGENTS.md"));
    expect(read().files).toEqual([["agent/AGENTS.md", "user"]]);
    expect(read("agent").files).toEqual([["agent/AGENTS.md", "user"]]);
  });

  test("that are broken, empty or no files are left out, and the broken ones told", () => {
    put("agent/AGENTS.md", "\ufeff \n");
    const broken = put("work/AGENTS.md", new Uint8Array([0x61, 0xff, 0xfe]));
    fs.mkdirSync(path.join(box, "work/sub/AGENTS.md"), { recursive: true });
    put("work/sub/CLAUDE.md", "used");
    const { files, notices } = read();
    expect(files).toEqual([["work/sub/CLAUDE.md", "used"]]);
    expect(notices).toEqual([`${broken} is ignored: it is not UTF-8.`]);
  });

  test("are cut when they are long, between characters", () => {
    const long = put("work/AGENTS.md", `x${"é".repeat(40_000)}`);
    const { files, notices } = read();
    expect(files[0]?.[1]).toBe(`x${"é".repeat(32_767)}`);
    expect(notices).toEqual([`${long} is longer than 64 KiB: the model is shown its beginning only.`]);
  });
});
