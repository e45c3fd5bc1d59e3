import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { IgnoreRules } from "../../src/tools/ignore-rules.ts";
import { Random } from "../support/random.ts";
import { inFolder } from "./calling.ts";

/** What rules in /r ignore of these paths; a path that ends with a slash is a folder. */
function ignored(rules: string, ...paths: string[]): string[] {
  const all = new IgnoreRules("/r", undefined, rules);
  return paths.filter((path) => {
    const bare = path.replace(/\/$/, "");
    return all.ignores(`/r/${bare}`, bare.split("/").at(-1)!, path.endsWith("/"));
  });
}

test("a name counts at any depth, one with a slash from the folder of the rules on", () => {
  expect(ignored("build\n/top\nsrc/gen\n", "build", "a/build/", "builds", "top", "a/top", "src/gen", "a/src/gen")).toEqual(["build", "a/build/", "top", "src/gen"]);
});

test("a slash at the end means folders only", () => {
  expect(ignored("out/\n", "out", "out/", "a/out/")).toEqual(["out/", "a/out/"]);
});

test("the last rule that matches decides, and a deeper file of rules comes last", () => {
  expect(ignored("*.log\n!keep.log\n", "a.log", "keep.log", "x/keep.log")).toEqual(["a.log"]);
  const deeper = new IgnoreRules("/r/sub", new IgnoreRules("/r", undefined, "*.log"), "!*.log\n/x.log");
  expect(["/r/a.log", "/r/sub/a.log", "/r/sub/x.log", "/r/sub/b/x.log"].filter((path) => (path.startsWith("/r/sub/") ? deeper : deeper.above!).ignores(path, path.split("/").at(-1)!, false))).toEqual(["/r/a.log", "/r/sub/x.log"]);
});

test("stars, double stars, sets and escapes are those of git", () => {
  expect(ignored("doc/*.txt", "doc/a.txt", "doc/b/a.txt", "a.txt")).toEqual(["doc/a.txt"]);
  expect(ignored("**/foo/*.c", "foo/a.c", "x/y/foo/a.c", "foo/x/a.c")).toEqual(["foo/a.c", "x/y/foo/a.c"]);
  expect(ignored("a/**/b", "a/b", "a/x/b", "a/x/y/b", "ab")).toEqual(["a/b", "a/x/b", "a/x/y/b"]);
  expect(ignored("a/**", "a/", "a/x", "a/x/y")).toEqual(["a/x", "a/x/y"]);
  expect(ignored("[ab]?.[!c]", "a1.o", "b2.c", "c1.o", "a.o")).toEqual(["a1.o"]);
  expect(ignored("[[:digit:]]x\n[]-]y\n", "1x", "ax", "]y", "-y")).toEqual(["1x", "]y", "-y"]);
  expect(ignored("\\#a\n\\!b\nc\\*\nd\\ \ne \n", "#a", "!b", "c*", "cx", "d ", "e", "e ")).toEqual(["#a", "!b", "c*", "d ", "e"]);
});

test("comments, blank lines, CRLF and broken patterns do no harm", () => {
  expect(ignored("# a comment\r\n\r\n  \r\nx.o\r\n[a\n\\\n[z-a]q\n", "x.o", "[a", "# a comment", "\\", "zq")).toEqual(["x.o"]);
});

test.if(Bun.which("git") !== null)("random rules ignore what git ignores", async () => {
  const random = new Random(7);
  const name = () => random.pick(["a", "b", "ab", "a.b", ".a", "b c", "[x]", "a-b"]);
  const part = () => random.pick(["a", "b", "*", "a*", "*b", "?", "[ab]", "[!a]", "**", "a.b", "*.b", ".a", "\\a", "[a-]*", "a**b", "\\[x]"]);
  const pattern = () => `${random.pick(["", "", "!"])}${random.pick(["", "", "/"])}${Array.from({ length: 1 + random.below(3) }, part).join("/")}${random.pick(["", "", "/", " "])}`;
  await inFolder(async (root) => {
    const git = (args: string[], stdin = "") => Bun.spawnSync(["git", "-c", "core.excludesFile=/dev/null", ...args], { cwd: root, stdin: Buffer.from(stdin) }).stdout.toString();
    git(["init", "-q"]);
    const cases = Array.from({ length: 15 }, (_, index) => {
      const drawn = new Set(Array.from({ length: 30 }, () => Array.from({ length: 1 + random.below(4) }, name).join("/")));
      const files = [...drawn].filter((path) => ![...drawn].some((other) => other.startsWith(`${path}/`)));
      return { folder: `case${index}`, text: Array.from({ length: 6 }, pattern).join("\n"), files };
    });
    for (const { folder, text, files } of cases) {
      for (const path of files) {
        mkdirSync(dirname(join(root, folder, path)), { recursive: true });
        writeFileSync(join(root, folder, path), "");
      }
      writeFileSync(join(root, folder, ".gitignore"), text);
    }
    const asked = cases.flatMap(({ folder, files }) => files.map((path) => `${folder}/${path}`));
    const theirs = git(["check-ignore", "--no-index", "-z", "--stdin"], asked.join("\0")).split("\0");
    for (const { folder, text, files } of cases) {
      const rules = new IgnoreRules(`${root}/${folder}`, undefined, text);
      const isIgnored = (path: string): boolean =>
        path.split("/").some((part, index, parts) => rules.ignores(`${root}/${folder}/${parts.slice(0, index + 1).join("/")}`, part, index < parts.length - 1));
      const expected = theirs.filter((path) => path.startsWith(`${folder}/`)).map((path) => path.slice(folder.length + 1));
      expect({ text, ignored: files.filter(isIgnored).sort() }).toEqual({ text, ignored: expected.sort() });
    }
    expect(theirs.length).toBeGreaterThan(60);
  });
});
