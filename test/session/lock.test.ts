import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fs from "node:fs";
import path from "node:path";
import { Refusal } from "../../src/base/refusal.ts";
import { Session } from "../../src/session/session.ts";
import { Sandbox } from "../support/sandbox.ts";
import { Host } from "./host.ts";
import { put, recordsOf, talk, textsOf, user } from "./made.ts";

let box: Sandbox;
let file: string;
beforeEach(() => {
  box = new Sandbox();
  file = put(path.join(box.dir, "made.jsonl"), talk(["q", "a"]));
});
afterEach(() => box[Symbol.dispose]());

const inUse = (pid: number): object => ({ code: "busy", error: `The session ${file} is in use: process ${pid} has it open and locked. End that one first, or fork the session.` });

describe("of two processes with one session", () => {
  test("the second is kept out while the first lives, and let in when it has closed", async () => {
    await using first = await Host.start();
    await using second = await Host.start();
    expect(await first.ask(`open ${file}`)).toEqual({ opened: 2 });
    expect(await second.ask(`open ${file}`)).toEqual(inUse(first.pid));
    await first.ask("append mine");
    await first.ask("close");
    expect(await second.ask(`open ${file}`)).toEqual({ opened: 3 });
    expect(await first.ask(`open ${file}`)).toEqual(inUse(second.pid));
  });

  test("the second is let in when the first was killed", async () => {
    await using first = await Host.start();
    await using second = await Host.start();
    await first.ask(`open ${file}`);
    await first.ask("append mine");
    await first.kill();
    expect(await second.ask(`open ${file}`)).toEqual({ opened: 3 });
    await second.ask("append and mine");
    expect(recordsOf(file)).toHaveLength(5);
  });

  test("the second cannot write what the first is making, nor open it", async () => {
    await using first = await Host.start();
    await using second = await Host.start();
    ({ file } = await first.ask(`create ${box.dir} chosen`));
    expect(await second.ask(`open ${file}`)).toEqual(inUse(first.pid));
    expect(await second.ask(`create ${box.dir} chosen`)).toEqual({ code: "invalid", error: `A session with the id chosen exists already: ${file}` });
    await first.kill();
    expect(await second.ask(`open ${file}`)).toEqual({ opened: 0 });
  });

  test("exactly one wins when both come at once, and again after its kill", async () => {
    await using a = await Host.start();
    await using b = await Host.start();
    await using c = await Host.start();
    const asks = [a.ask(`open ${file}`), b.ask(`open ${file}`), c.ask(`open ${file}`)];
    const answers = await Promise.all(asks);
    const winners = [a, b, c].filter((_, i) => answers[i].opened === 2);
    expect(winners).toHaveLength(1);
    await winners[0]!.kill();
    const losers = [a, b, c].filter((host) => host !== winners[0]);
    const second = await Promise.all(losers.map((host) => host.ask(`open ${file}`)));
    expect(second.filter(({ opened }) => opened === 2)).toHaveLength(1);
  });

  test("exactly one makes the session of an id, when both come at once", async () => {
    await using a = await Host.start();
    await using b = await Host.start();
    const made: string[] = [];
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all([a.ask(`create ${box.dir} id${round}`), b.ask(`create ${box.dir} id${round}`)]);
      made.push(...answers.flatMap((answer) => answer.file ?? []));
    }
    expect(made).toHaveLength(10);
    expect(fs.readdirSync(box.dir).filter((name) => name.includes("_id"))).toHaveLength(10);
  });
});

describe("the lock", () => {
  test("is not passed on to children, which may outlive their parent", async () => {
    await using second = await Host.start();
    const session = await Session.open(file);
    await using child = await Host.start();
    session.close();
    expect(await second.ask(`open ${file}`)).toEqual({ opened: 2 });
    expect(child.pid).toBeGreaterThan(0);
  });

  test("leaves nothing behind in the folder", async () => {
    const session = await Session.open(file);
    session.close();
    expect(fs.readdirSync(box.dir).filter((name) => name.includes("made"))).toEqual(["made.jsonl"]);
  });

  test("is of the file, whatever it is called", async () => {
    const link = path.join(box.dir, "link.jsonl");
    fs.symlinkSync(file, link);
    await using other = await Host.start();
    const session = await Session.open(file);
    expect(await other.ask(`open ${link}`)).toMatchObject({ code: "busy" });
    session.close();
  });

  test("is given back when what was opened is no session", async () => {
    await using other = await Host.start();
    put(file, ["not a session"]);
    expect(Session.open(file)).rejects.toThrow(Refusal);
    put(file, talk(["q"]));
    expect(await other.ask(`open ${file}`)).toEqual({ opened: 1 });
  });

  test("is shared by sessions of one process, until the last of them is closed", async () => {
    await using other = await Host.start();
    const one = await Session.open(file);
    const two = await Session.open(file);
    one.close();
    one.close();
    expect(await other.ask(`open ${file}`)).toMatchObject(inUse(process.pid));
    two.append({ type: "message", message: user("still mine") });
    two.close();
    expect(await other.ask(`open ${file}`)).toEqual({ opened: 3 });
  });

  test("does not keep others from forking", async () => {
    await using other = await Host.start();
    await other.ask(`open ${file}`);
    await other.ask("append theirs");
    const fork = await Session.fork(file, { cwd: "/elsewhere", dir: path.join(box.dir, "forks") });
    expect([textsOf(fork.messages()), fork.parentSession]).toEqual([["q", "a", "theirs"], file]);
    fork.close();
  });
});
