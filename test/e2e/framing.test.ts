import { expect, test } from "bun:test";
import { Random } from "../support/random.ts";
import { start } from "../support/rpi.ts";

test("each bad line is answered once, and the next command is untouched", async () => {
  await using rpi = await start();
  await rpi.ok("get_state");
  const from = rpi.mark();
  const bad = ["ls", '{"type":', "[]", "42", "null", "true", '"x"', "", "   ", "\r", '{"a":1}{"b":2}', "[".repeat(100_000), '{"type":"x'.padEnd(70_000, "x")];
  rpi.sendRaw(bad.map((line) => `${line}\n`).join(""));
  const answers = async () => { await rpi.ok("get_last_assistant_text"); return rpi.events("response", from).slice(0, -1); };
  const got = await answers();
  expect(got.length).toBe(bad.length);
  for (const answer of got) expect(answer).toEqual({ type: "response", command: "parse", success: false, error: expect.stringMatching(/^Failed to parse command: ./), code: "parse" });
});

test("a record may be nested as deep as it likes, and its number comes back", async () => {
  await using rpi = await start();
  const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
  rpi.sendRaw(`{"type":"get_last_assistant_text","id":1.5,"deep":${deep}}\n`);
  expect(await rpi.response(1.5)).toMatchObject({ success: true });
  expect((await rpi.finish()).code).toBe(0);
  expect(rpi.stderr).toBe("");
});

test("a line over the limit is answered once with the limit, one byte less is read", async () => {
  await using rpi = await start({ args: ["--max-line-bytes", "1000"] });
  const line = (id: string, bytes: number) => {
    const head = `{"id":"${id}","type":"get_last_assistant_text","pad":"`;
    return `${head}${"x".repeat(bytes - head.length - 2)}"}\n`;
  };
  rpi.sendRaw(line("over", 1001) + line("fits", 1000));
  await rpi.response("fits");
  expect(rpi.events("response").map((record) => [record["command"], record["success"]])).toEqual([["parse", false], ["get_last_assistant_text", true]]);
  expect(rpi.events("response")[0]!["error"]).toContain("1000 bytes");
});

test("a line of 32 MiB is read in about a second", async () => {
  await using rpi = await start();
  await rpi.ok("get_state");
  const before = rpi.memory().rssBytes;
  await rpi.ok("set_session_name", { name: "big", pad: "x".repeat(32 << 20) });
  expect(rpi.memory().peakBytes - before).toBeLessThan(250e6);
});

/** Lines of every kind with, for each, how it must be answered: an id, "parse", or nothing more than once. */
function fuzz(count: number, seed: number): { text: Buffer[]; ids: string[]; faults: number } {
  const random = new Random(seed);
  const text: Buffer[] = [];
  const ids: string[] = [];
  let faults = 0;
  const good = ["get_state", "get_messages", "get_commands", "get_last_assistant_text", "get_session_stats", "nope", "toString"];
  for (let i = 0; i < count; i += 1) {
    const id = `r${i}`;
    const record = JSON.stringify({ id, type: random.pick(good), pad: random.pick(["", "é\u2028", "漢字", "\\n", "\u0085", "x".repeat(50)]) });
    const kind = random.below(8);
    if (kind < 4) {
      text.push(Buffer.from(`${random.pick(["", " ", "\t"])}${record}${random.pick(["", "\r", "\r\r", " "])}\n`));
      ids.push(id);
      continue;
    }
    faults += 1;
    const cut = 1 + random.below(record.length - 1);
    if (kind === 4) text.push(Buffer.from(`${record.slice(0, cut).replace(/[\uD800-\uDBFF]$/, "")}\n`));
    else if (kind === 5) text.push(Buffer.from(`${record}${record}\n`));
    else if (kind === 6) text.push(Buffer.from(random.pick(["null", "[]", "7", "", "{}", '{"id":null}', '{"type":3}'])), Buffer.from("\n"));
    else text.push(Buffer.from([0xff, ...Buffer.from(Array.from({ length: 20 }, () => random.below(256)).filter((byte) => byte !== 10)), 10]));
  }
  return { text, ids, faults };
}

test("100 000 lines of every kind: each request is answered exactly once, and life goes on", async () => {
  const { text, ids, faults } = fuzz(Number(process.env["RPI_FUZZ_LINES"] ?? 100_000), 7);
  await using rpi = await start({ patienceMs: 60_000 });
  await rpi.ok("get_state");
  const from = rpi.mark();
  const sizes = new Random(11);
  const whole = Buffer.concat(text);
  for (let at = 0; at < whole.length; ) {
    const size = 1 + Math.floor(sizes.next() ** 4 * 200_000);
    rpi.sendRaw(whole.subarray(at, at + size));
    at += size;
  }
  rpi.send({ id: "end", type: "get_messages" });
  await rpi.response("end", from);
  const answered = rpi.events("response", from);
  expect(answered.filter((record) => record["command"] === "parse").length).toBe(faults);
  const seen = answered.filter((record) => record["command"] !== "parse").map((record) => record["id"]);
  expect(seen).toEqual([...ids, "end"]);
}, 120_000);
