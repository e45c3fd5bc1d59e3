import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import path from "node:path";

const src = path.resolve(import.meta.dir, "../src");

/** What these modules import by statement, directly or through others. */
function importedBy(...entries: string[]): Set<string> {
  const transpiler = new Bun.Transpiler({ loader: "ts" });
  const found = new Set(entries);
  for (const file of found) {
    if (!file.endsWith(".ts")) continue;
    for (const { kind, path: name } of transpiler.scanImports(readFileSync(path.join(src, file), "utf8"))) {
      if (kind === "import-statement") found.add(name.startsWith(".") ? path.join(path.dirname(file), name) : name);
    }
  }
  return found;
}

test("a start loads nothing of Node but paths and buffers, and no package", () => {
  const outside = [...importedBy("main.ts", "rpc/serve.ts")].filter((name) => !name.endsWith(".ts") && !name.endsWith(".md"));
  expect(outside.sort()).toEqual(["node:buffer", "node:path"]);
});
