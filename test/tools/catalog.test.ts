import { afterAll, expect, test } from "bun:test";
import { z } from "zod";
import { Children } from "../../src/process/children.ts";
import { Supervisor } from "../../src/process/supervisor.ts";
import { BUILT_IN, DEFAULT_TOOLS, loadTools } from "../../src/tools/catalog.ts";
import { toolSchema } from "../../src/tools/schema.ts";
import { tidy } from "../../src/tools/tidy.ts";

const children = new Children({ env: process.env, hiddenNames: new Set() });
afterAll(() => children.stopAll(100));

test("tools are loaded by name, in order, once each; unknown ones and those without their means are left out", async () => {
  expect((await loadTools(["grep", "read", "toString", "read", "nope", "process", "todo"], { children })).map(({ name }) => name)).toEqual(["grep", "read"]);
  const [todo] = await loadTools(["write"], { children });
  const all = await loadTools(BUILT_IN, { children, process: new Supervisor({ children, emit: () => {} }), todo: async () => ({ ...todo!, name: "todo" }) });
  expect(all.map(({ name }) => name)).toEqual([...BUILT_IN]);
  expect(DEFAULT_TOOLS).toEqual(["read", "bash", "edit", "write"]);
});

test("names and parameters are those that prompts for pi know", async () => {
  const tools = await loadTools(["read", "write", "edit", "bash", "grep", "find", "ls"], { children });
  const shape = Object.fromEntries(
    tools.map((tool) => {
      const { properties, required } = toolSchema(tool).parameters as { properties: Record<string, { type: string }>; required?: string[] };
      return [tool.name, Object.entries(properties).map(([name, { type }]) => `${name}${required?.includes(name) ? "" : "?"}: ${type}`)];
    }),
  );
  expect(shape).toEqual({
    read: ["path: string", "offset?: number", "limit?: number"],
    write: ["path: string", "content: string"],
    edit: ["path: string", "edits: array"],
    bash: ["command: string", "timeout?: number"],
    grep: ["pattern: string", "path?: string", "glob?: string", "ignoreCase?: boolean", "literal?: boolean", "context?: number", "limit?: number"],
    find: ["pattern: string", "path?: string", "limit?: number"],
    ls: ["path?: string", "limit?: number"],
  });
});

test("the schema for the model is plain JSON Schema of an object, made once, with the prose beside the tool", async () => {
  const [ls] = await loadTools(["ls"], { children });
  expect(toolSchema(ls!)).toEqual({
    name: "ls",
    description: await Bun.file(new URL("../../src/tools/ls.md", import.meta.url)).text().then((text) => text.trim()),
    parameters: {
      type: "object",
      properties: { path: { type: "string", description: "Folder to list; default the working directory" }, limit: { type: "number", description: "Entries at most; default 500" } },
    },
  });
  expect(toolSchema(ls!)).toBe(toolSchema(ls!));
});

test("arguments are made fit where their meaning is plain", () => {
  const schema = z.object({ name: z.string(), size: z.number().optional(), isOn: z.boolean().optional(), list: z.array(z.string()).optional() });
  expect(tidy({ name: null, size: "10", isOn: "true", list: '["a"]', extra: 1 }, schema)).toEqual({ name: null, size: 10, isOn: true, list: ["a"], extra: 1 });
  expect(tidy({ name: "5", size: null, isOn: null, list: null }, schema)).toEqual({ name: "5" });
  expect(tidy({ size: "", isOn: "yes", list: "a, b" }, schema)).toEqual({ size: "", isOn: "yes", list: "a, b" });
});
