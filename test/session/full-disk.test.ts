import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import fs from "node:fs";
import path from "node:path";
import { SessionWriteError } from "../../src/session/file.ts";
import { Session } from "../../src/session/session.ts";
import { Sandbox } from "../support/sandbox.ts";
import { Host } from "./host.ts";
import { put, recordsOf, talk, textsOf, user } from "./made.ts";

let box: Sandbox;
beforeEach(() => void (box = new Sandbox()));
afterEach(() => box[Symbol.dispose]());

const append = (session: Session, text: string): unknown => session.append({ type: "message", message: user(text) });
const codeOf = (run: () => unknown): string | undefined => {
  try {
    run();
    return undefined;
  } catch (error) {
    return error instanceof SessionWriteError ? error.code : String(error);
  }
};

/** A file system of 64 KiB, for which one must be root on Linux. */
function smallDisk(): Disposable & { dir: string } | undefined {
  const dir = fs.mkdtempSync(path.join(fs.realpathSync(process.env["TMPDIR"] ?? "/tmp"), "rpi-small-disk-"));
  const isMounted = process.platform === "linux" && Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=64k", "none", dir], { stderr: "ignore" }).success;
  if (!isMounted) fs.rmdirSync(dir);
  return isMounted
    ? {
        dir,
        [Symbol.dispose]() {
          // Lazily: a test that failed may have left a file of it open.
          Bun.spawnSync(["umount", "-l", dir]);
          fs.rmdirSync(dir);
        },
      }
    : undefined;
}
const canMount = ((disk) => (disk?.[Symbol.dispose](), disk !== undefined))(smallDisk());

describe.skipIf(!canMount)("on a disk that is full (needs root on Linux)", () => {
  test("an append fails, the file stays valid, and writing goes on when there is room", async () => {
    using disk = smallDisk()!;
    const session = Session.create({ cwd: "/", dir: path.join(disk.dir, "sessions") });
    append(session, "first");
    const ballast = path.join(disk.dir, "ballast");
    fs.writeFileSync(ballast, Buffer.alloc(48 * 1024));
    const before = fs.readFileSync(session.file!, "utf8");
    expect(codeOf(() => append(session, "much ".repeat(10_000)))).toBe("ENOSPC");
    expect(fs.readFileSync(session.file!, "utf8")).toBe(before);
    expect([textsOf(session.messages()), session.stats().totalMessages, session.leafId]).toEqual([["first"], 1, recordsOf(session.file!).at(-1)!.id]);
    append(session, "small");
    fs.rmSync(ballast);
    append(session, "much ".repeat(2000));
    append(session, "last");
    session.close();
    const again = await Session.open(session.file!);
    expect([textsOf(again.messages()).map((text) => text.slice(0, 5)), again.notices]).toEqual([["first", "small", "much ", "last"], []]);
    again.close();
  });

  test("a part that cannot be taken back is a broken line of its own", async () => {
    using disk = smallDisk()!;
    const session = Session.create({ cwd: "/", dir: path.join(disk.dir, "sessions") });
    append(session, "first");
    const truncate = spyOn(fs, "ftruncateSync").mockImplementation(() => {
      throw new Error("not here");
    });
    try {
      expect(codeOf(() => append(session, "much ".repeat(20_000)))).toBe("ENOSPC");
      expect(truncate).toHaveBeenCalledTimes(1);
    } finally {
      truncate.mockRestore();
    }
    fs.truncateSync(session.file!, 4096);
    append(session, "second");
    append(session, "third");
    session.close();
    const again = await Session.open(session.file!);
    expect([textsOf(again.messages()), again.notices.map(({ code }) => code)]).toEqual([["first", "second", "third"], ["session_bad_lines"]]);
    again.close();
  });

  test("no file is left of a session that could not begin, and it begins when there is room", () => {
    using disk = smallDisk()!;
    const ballast = path.join(disk.dir, "ballast");
    expect(() => fs.writeFileSync(ballast, Buffer.alloc(128 * 1024))).toThrow();
    const session = Session.create({ cwd: "/", dir: path.join(disk.dir, "sessions") });
    session.append({ type: "model_change", provider: "p", modelId: "m" });
    expect(codeOf(() => append(session, "first"))).toBe("ENOSPC");
    expect(fs.existsSync(session.file!)).toBe(false);
    fs.rmSync(ballast);
    append(session, "second");
    expect(recordsOf(session.file!).map(({ type }) => type)).toEqual(["session", "model_change", "message"]);
    session.close();
  });

  test("a fork that does not fit is taken away", async () => {
    using disk = smallDisk()!;
    const source = Session.create({ cwd: "/", dir: null });
    for (let i = 0; i < 100; i++) append(source, "much ".repeat(1000));
    expect(Session.fork(source, { cwd: "/", dir: path.join(disk.dir, "forks") })).rejects.toThrow(SessionWriteError);
    expect(fs.readdirSync(path.join(disk.dir, "forks"))).toEqual([]);
  });
});

describe.skipIf(process.platform === "win32")("at the end of what a process may write (ulimit -f)", () => {
  test("a part that was written is taken back", async () => {
    const file = put(path.join(box.dir, "made.jsonl"), talk(["q"]));
    const before = fs.readFileSync(file, "utf8");
    // 8 blocks of 512 bytes (dash) or of 1024 (bash in its own mode); the signal would kill.
    await using host = await Host.start("sh", "-c", 'trap "" XFSZ; ulimit -f 8; exec "$@"', "sh");
    await host.ask(`open ${file}`);
    expect(await host.ask(`append ${"much ".repeat(10_000)}`)).toMatchObject({ code: "EFBIG" });
    expect(fs.readFileSync(file, "utf8")).toBe(before);
    expect(await host.ask("append small")).toMatchObject({ id: expect.any(String) });
    expect(recordsOf(file)).toHaveLength(3);
  });
});

/** As root, permissions keep nobody out: those tests say so instead of passing. */
const isRoot = process.getuid?.() === 0;

describe("where nothing may be written", () => {
  test.skipIf(isRoot)("a session cannot begin, which is told when it is due (not as root)", () => {
    const dir = path.join(box.dir, "closed");
    fs.mkdirSync(dir, { mode: 0o500 });
    const session = Session.create({ cwd: "/", dir: path.join(dir, "sessions") });
    expect(codeOf(() => append(session, "x"))).toBe("EACCES");
    expect(codeOf(() => Session.create({ cwd: "/", dir, id: "chosen" }))).toBe("EACCES");
    expect(session.messages()).toEqual([]);
  });

  test.skipIf(isRoot)("a session can be read, and its notice says that this is all (not as root)", async () => {
    const file = put(path.join(box.dir, "made.jsonl"), talk(["q", "a"]));
    fs.chmodSync(file, 0o400);
    const session = await Session.open(file);
    expect([textsOf(session.messages()), session.notices.map(({ code }) => code), codeOf(() => append(session, "x"))]).toEqual([["q", "a"], ["session_read_only"], "EACCES"]);
    session.close();
  });

  test.skipIf(!canMount)("a session on a disk that is only read can be read (needs root on Linux)", async () => {
    using disk = smallDisk()!;
    const file = put(path.join(disk.dir, "made.jsonl"), talk(["q", "a"]));
    Bun.spawnSync(["mount", "-o", "remount,ro", disk.dir]);
    const session = await Session.open(file);
    expect([textsOf(session.messages()), session.notices.map(({ code }) => code), codeOf(() => append(session, "x"))]).toEqual([["q", "a"], ["session_read_only"], "EACCES"]);
    expect(codeOf(() => Session.create({ cwd: "/", dir: path.join(disk.dir, "new"), id: "chosen" }))).toBe("EROFS");
    expect(codeOf(() => append(Session.create({ cwd: "/", dir: disk.dir }), "x"))).toBe("EROFS");
    const fork = await Session.fork(file, { cwd: "/", dir: path.join(box.dir, "forks") });
    expect(textsOf(fork.messages())).toEqual(["q", "a"]);
    fork.close();
    session.close();
  });

  test("a file in the place of the folder is an error that names the session's file", () => {
    const session = Session.create({ cwd: "/", dir: put(path.join(box.dir, "in-the-way"), ["x"]) });
    expect(() => append(session, "x")).toThrow(`Cannot write the session file ${session.file}`);
  });
});
