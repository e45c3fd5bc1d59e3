import { expect, test } from "bun:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { binary } from "../support/rpi.ts";
import { Schemas } from "../support/schemas.ts";

test("the schema takes null for what may be left out, as rpi does, and nothing that rpi refuses", async () => {
  const schemas = await Schemas.of(await binary());
  const fine = [
    { type: "get_state" }, { type: "get_state", id: null }, { id: 7, type: "abort", more: true }, { type: "prompt", message: "x", images: null, streamingBehavior: null },
    { type: "get_entries", since: null, limit: null }, { type: "todo_op", op: "start", task: null }, { type: "process_spawn", spec: { argv: ["a"], cwd: "/", env: { A: null }, tty: null } },
    { type: "extension_ui_response", id: "d", cancelled: true, value: null },
  ];
  expect(fine.map((record) => schemas.commandFault(record))).toEqual(fine.map(() => undefined));
  const wrong = [{}, { type: "nope" }, { type: "get_state", id: {} }, { type: "prompt" }, { type: "prompt", message: null }, { type: "prompt", message: "x", streamingBehavior: "soon" }, { type: "bash", command: 5 }];
  expect(wrong.map((record) => schemas.commandFault(record) !== undefined)).toEqual(wrong.map(() => true));
});

interface Described {
  description?: string;
  allOf?: Described[];
}

test("a strict validator takes the schema, and every command and event says what it is", async () => {
  const schema = JSON.parse(await Bun.spawn([await binary(), "schema"], { stdin: "ignore" }).stdout.text());
  expect(new Ajv2020({ strictTypes: false }).compile(schema)({ type: "agent_start" })).toBe(true);
  const branches: Described[] = [...schema.$defs.command.anyOf, ...schema.$defs.event.anyOf];
  expect(branches.filter(({ description, allOf }) => !(description ?? allOf?.[0]?.description))).toEqual([]);
});
