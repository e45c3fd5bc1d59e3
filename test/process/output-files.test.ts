import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { OutputFile } from "../../src/process/output-files.ts";
import { fixture } from "./rig.ts";

interface Told {
  fullOutputPath?: string;
  fullOutputFailure?: string;
  totalLines: number;
}

async function longOutputs(tmp: string): Promise<Told[]> {
  const host = Bun.spawn([process.execPath, fixture("long-outputs.ts")], { env: { ...process.env, TMPDIR: tmp }, stdout: "pipe", stderr: "inherit" });
  const told: Told[] = JSON.parse(await host.stdout.text());
  expect(await host.exited).toBe(0);
  return told;
}

test("files go at exit unless something that lives on names them", async () => {
  const tmp = mkdtempSync(path.join(os.tmpdir(), "rpi-files-"));
  try {
    const [first, second] = await longOutputs(tmp);
    expect([first, second]).toEqual([1, 2].map(() => ({ fullOutputPath: expect.stringContaining(tmp), totalLines: 3000 })));
    expect([existsSync(first!.fullOutputPath!), readdirSync(tmp)]).toEqual([false, [path.basename(second!.fullOutputPath!)]]);
  } finally {
    rmSync(tmp, { recursive: true });
  }
});

test("where no file can be made the command goes on and the reason is told", async () => {
  expect(await longOutputs("/no/such/folder")).toEqual([1, 2].map(() => ({ fullOutputFailure: expect.stringContaining("ENOENT"), totalLines: 3000 })));
});

test("nothing of many small pieces is lost, however they fall between the writes", async () => {
  const file = new OutputFile();
  let bytes = 0;
  file.begin();
  for (let i = 0; i < 3000; i += 1) {
    const piece = Buffer.alloc(i % 700, "x");
    bytes += piece.length;
    await file.add(piece);
    if (i % 5 === 0) file.begin();
    if (i % 11 === 0) await Promise.resolve();
    if (i % 97 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const { path: full } = await file.end(true);
  expect(Bun.file(full!).size).toBe(bytes);
  rmSync(full!);
});
