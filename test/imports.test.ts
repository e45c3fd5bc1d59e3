import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { importFaults, importsOf } from "../scripts/imports.ts";

test("every room imports only what stands to its left, without cycles and without heavy modules at start", () => {
  expect(importFaults(path.join(import.meta.dir, "../src"))).toEqual([]);
});

test("an import to the right, a missing file, a heavy module and a cycle are each told", () => {
  const src = mkdtempSync(path.join(os.tmpdir(), "rpi-imports-"));
  const put = (name: string, text: string) => {
    mkdirSync(path.dirname(path.join(src, name)), { recursive: true });
    writeFileSync(path.join(src, name), text);
  };
  try {
    put("base/a.ts", `import { b } from "./b.ts";\nimport type { Agent } from "../agent/agent.ts";\n`);
    put("base/b.ts", `export * from "./a.ts";\nimport http from "node:http";\n`);
    put("agent/agent.ts", `import "./gone";\nimport { a } from "../base/a.ts";\n`);
    put("elsewhere/c.ts", "");
    expect(importFaults(src)).toEqual([
      "agent/agent.ts: ./gone does not exist (the ending belongs to the name)",
      "base/a.ts: imports agent/agent.ts, which stands to its right",
      "base/b.ts: node:http is heavy at start, import it where it is used",
      "elsewhere/c.ts: elsewhere is none of the rooms",
      "base/a.ts: imports itself by way of base/b.ts → base/a.ts",
      "agent/agent.ts: imports itself by way of base/a.ts → agent/agent.ts",
    ]);
  } finally {
    rmSync(src, { recursive: true, force: true });
  }
});

test("imports are told apart: evaluated, only types, on first use", () => {
  const source = `
import a, { type B } from "./a.ts";
import type { C } from "./c.ts";
import { type D, type E } from "./d.ts";
import {
  f,
} from "./f.ts";
import "./g.ts";
export type { H } from "./h.ts";
export { i } from "./i.ts";
import text from "./k.md" with { type: "text" };
const lazy = () => import("./j.ts");
`;
  expect(importsOf(source)).toEqual([
    { target: "./a.ts", kind: "static" },
    { target: "./c.ts", kind: "type" },
    { target: "./d.ts", kind: "type" },
    { target: "./f.ts", kind: "static" },
    { target: "./g.ts", kind: "static" },
    { target: "./h.ts", kind: "type" },
    { target: "./i.ts", kind: "static" },
    { target: "./k.md", kind: "static" },
    { target: "./j.ts", kind: "lazy" },
  ]);
});
