import { expect, test } from "bun:test";
import { RecordRules } from "./record-rules.ts";
import { binary } from "./rpi.ts";
import { Schemas } from "./schemas.ts";

const started = '{"type":"session_started","data":{"version":3,"id":"1","timestamp":"t","cwd":"/","protocolVersion":1,"rpiVersion":"1.0.0"}}';

/** What the rules say of these lines, without the line itself. */
async function faultsOf(...lines: (string | Uint8Array)[]): Promise<string[]> {
  const rules = new RecordRules(await Schemas.of(await binary()));
  for (const line of lines) rules.check(typeof line === "string" ? Buffer.from(line) : line);
  return rules.faults.map((fault) => fault.replace(/[:(].*/s, "").trim());
}

test("records as they should be break no rule", async () => {
  const answers = ['{"id":"1","type":"response","command":"abort","success":true,"data":null}', '{"id":"2","type":"response","command":"abort","success":false,"error":"no","code":"busy"}'];
  expect(await faultsOf(started, ...answers, '{"type":"agent_start"}')).toEqual([]);
});

test("each rule of the wire is told when it is broken", async () => {
  expect(await faultsOf('{"type":"agent_start"}')).toEqual(["the first record is not session_started"]);
  expect(await faultsOf(started, "not json", "[]", Uint8Array.of(0x22, 0xff, 0x22))).toEqual(["a line that is no JSON", "a line that is no object with a type", "a line that is no JSON"]);
  expect(await faultsOf(started, '{"type":"notice","level":"info","code":"\u001b[1m","message":""}')).toContain("an escape character on stdout");
  const answer = '{"id":"1","type":"response","command":"abort","success":true,"data":null}';
  expect(await faultsOf(started, answer, answer)).toEqual(["a second response for one id"]);
  expect(await faultsOf(started, '{"type":"response","command":"abort","success":true}')).toContain("a success without data");
  expect(await faultsOf(started, '{"type":"response","command":"abort","success":false,"error":"","code":"odd"}')).toContain("a failure with none of the codes");
  expect(await faultsOf(started, '{"type":"agent_end","messages":3,"willRetry":false}', '{"type":"nobody_knows"}')).toEqual(["a record that is not as the schema says", "a record that is not as the schema says"]);
});
