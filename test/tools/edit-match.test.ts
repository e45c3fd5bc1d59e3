import { describe, expect, test } from "bun:test";
import { applyReplacements, type Edit, matchEdits } from "../../src/tools/edit-match.ts";
import { Random } from "../support/random.ts";

function apply(original: string, ...edits: Edit[]): string {
  return applyReplacements(original, matchEdits(original, edits).replacements);
}

function failure(original: string, ...edits: Edit[]): string {
  try {
    matchEdits(original, edits);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("it matched");
}

const edit = (oldText: string, newText: string): Edit => ({ oldText, newText });

describe("exact text", () => {
  test("several edits are all looked up in the original", () => {
    expect(apply("one\ntwo\nthree\n", edit("three", "two"), edit("two", "one"), edit("one", "three"))).toBe("three\none\ntwo\n");
  });

  test("replacement patterns mean nothing", () => {
    expect(apply("a b c", edit("b", "$& $1 $$ \\1"))).toBe("a $& $1 $$ \\1 c");
  });

  test("edits may touch but not overlap", () => {
    expect(apply("abcd", edit("cd", "2"), edit("ab", "1"))).toBe("12");
    expect(failure("one\ntwo three\n", edit("two three", "x"), edit("three", "y"))).toBe(
      "edits[0] and edits[1] overlap (both change line 2). Join them into one edit. Nothing was changed.",
    );
  });

  test("text that stands twice, overlapping itself too, is refused with its lines", () => {
    expect(failure("aaa\nb\naa", edit("aa", "x"))).toBe("oldText matches 3 times (line 1, 3); it must match one place. Add lines before or after it until it does. Nothing was changed.");
  });

  test("an exact match is taken although a tolerant one stands elsewhere", () => {
    expect(apply("say “hi”\nsay \"hi\"\n", edit('say "hi"', "bye"))).toBe("say “hi”\nbye\n");
    expect(apply("x\r\nx\n", edit("x\r\n", "y\r\n"))).toBe("y\r\nx\n");
  });
});

describe("line endings", () => {
  test("CRLF files keep CRLF, whatever the edit is written with", () => {
    const file = "one\r\ntwo\r\nthree\r\n";
    expect(apply(file, edit("one\ntwo", "1\n2"))).toBe("1\r\n2\r\nthree\r\n");
    expect(apply(file, edit("one\r\ntwo", "1\r\n2"))).toBe("1\r\n2\r\nthree\r\n");
    expect(apply(file, edit("two", "2\n2b"))).toBe("one\r\n2\r\n2b\r\nthree\r\n");
    expect(apply(file, edit("\ntwo\n", "\n2\n"))).toBe("one\r\n2\r\nthree\r\n");
    expect(apply(file, edit("one\n", ""), edit("three\n", "3\n"))).toBe("two\r\n3\r\n");
  });

  test("LF files keep LF though the edit is written with CRLF", () => {
    expect(apply("one\ntwo\nthree\n", edit("one\r\ntwo", "1\r\n2"))).toBe("1\n2\nthree\n");
  });

  test("in a file of mixed endings each line keeps its own", () => {
    expect(apply("a\r\nb\nc\r\nd\n", edit("a\nb\nc\nd", "A\nB\nC\nd"))).toBe("A\r\nB\nC\r\nd\n");
    expect(apply("a\r\nb\nc\n", edit("b", "b1\nb2"))).toBe("a\r\nb1\nb2\nc\n");
  });

  test("files with CR alone are edited with LF", () => {
    expect(apply("one\rtwo\rthree", edit("one\ntwo", "1\n2\n3"))).toBe("1\r2\r3\rthree");
  });

  test("a CR inside a line of an LF file is a character like others", () => {
    expect(apply("a 10%\r20%\nb\n", edit("10%\r20%", "30%\r40%"))).toBe("a 30%\r40%\nb\n");
  });

  test("a missing last line end stays missing", () => {
    expect(apply("one\ntwo", edit("two", "2"))).toBe("one\n2");
    expect(apply("one\r\ntwo", edit("two", "2\n3"))).toBe("one\r\n2\r\n3");
  });
});

describe("tolerance", () => {
  const tolerance = (original: string, one: Edit) => matchEdits(original, [one]).tolerances[0];

  test("blanks at the ends of lines are overlooked, and kept where the edit repeats the line", () => {
    expect(apply("if x:  \n    y()\t\nz\n", edit("if x:\n    y()\nz", "if x:\n    y()\nw"))).toBe("if x:  \n    y()\t\nw\n");
    expect(apply("a\nb\nc\n", edit("a  \nb \n", "a\nB\n"))).toBe("a\nB\nc\n");
    expect(tolerance("a  \nb\n", edit("a\nb", "x"))).toBe("blanks");
  });

  test("blanks that end oldText are not overlooked inside of a line", () => {
    expect(failure("foobar\n", edit("foo ", "x"))).toStartWith("oldText was not found.");
  });

  test("look-alike quotes, dashes and spaces are overlooked", () => {
    expect(apply("say(“it’s – ok”)\n", edit('say("it\'s - ok")', "done"))).toBe("done\n");
    expect(apply('say("ok")\n', edit("say(“ok”)", "done"))).toBe("done\n");
    expect(apply("a\u00a0b\u202fc\nd\n", edit("a b c\nd", "a b c\nD"))).toBe("a\u00a0b\u202fc\nD\n");
    expect(tolerance("a – b\n", edit("a - b", "x"))).toBe("looks");
  });

  test("indentation is never overlooked", () => {
    expect(failure("\tfoo();\n", edit("    foo();\n", "bar();\n"))).toContain("line 1 is indented otherwise");
  });
});

describe("what is not there", () => {
  test("the nearest lines are shown with their numbers", () => {
    const file = "import a\n\nfunction total(list) {\n  let sum = 0;\n  return sum;\n}\n";
    expect(failure(file, edit("function total(list) {\n  let sum = 1;\n  return sum;\n}", "x"))).toBe(
      'oldText was not found. Nearest in the file (line 4 differs; you gave "  let sum = 1;"):\n\n3: function total(list) {\n4:   let sum = 0;\n5:   return sum;\n6: }\n\nCopy oldText from the file, without the line numbers. Nothing was changed.',
    );
    expect(failure(file, edit("functoin totl(list)", "x"))).toContain("3: function total(list) {");
  });

  test("an edit that was made already is told so", () => {
    expect(failure("const answer = 42;\n", edit("const answer = 41;", "const answer = 42;"))).toContain("The file already holds the new text, at line 1.");
  });

  test("where nothing is like it, that is said", () => {
    expect(failure("a\nb\n", edit("something else entirely", "x"))).toBe("oldText was not found, nor anything like it. Read the file again before you edit it. Nothing was changed.");
    expect(failure("", edit("x", "y"))).toStartWith("oldText was not found");
  });

  test("of several edits the one that does not fit is named", () => {
    expect(failure("a\nb\n", edit("a", "x"), edit("zzz", "y"))).toStartWith("edits[1] was not found");
  });
});

describe("random texts", () => {
  const PIECES = ["a", "b", "foo", " ", "  ", "\t", "“", '"', "'", "’", "-", "–", "\u00a0", "{", "}", "é", "漢", "😀", "$&"];
  const lineOf = (random: Random) => Array.from({ length: random.below(6) }, () => random.pick(PIECES)).join("");

  test("outside of exact edits every byte stays, inside stands the new text", () => {
    const random = new Random(1);
    let applied = 0;
    for (let round = 0; round < 4_000; round++) {
      const endings = random.pick([["\n"], ["\r\n"], ["\n", "\r\n"]]);
      const text = Array.from({ length: 1 + random.below(8) }, () => lineOf(random) + random.pick(endings)).join("") + lineOf(random);
      const cuts = [0, 0, 0, 0].map(() => random.below(text.length + 1)).sort((a, b) => a - b);
      const edits: Edit[] = [];
      let expected = text.slice(0, cuts[0]);
      for (const [start, end, next] of [[cuts[0]!, cuts[1]!, cuts[2]!], [cuts[2]!, cuts[3]!, text.length]] as const) {
        const oldText = text.slice(start, end);
        const newText = lineOf(random);
        // The oracle knows only what is unique, and replaced in one line.
        if (oldText === "" || !oldText.isWellFormed() || oldText.includes("\n") || oldText.includes("\r") || text.indexOf(oldText) !== text.lastIndexOf(oldText)) {
          expected += text.slice(start, next);
        } else {
          edits.push({ oldText, newText });
          expected += newText + text.slice(end, next);
        }
      }
      if (edits.length === 0) continue;
      applied++;
      expect(apply(text, ...edits)).toBe(expected);
    }
    expect(applied).toBeGreaterThan(500);
  });

  test("edits over line ends in LF files do what replace does, and in CRLF files the same with CRLF", () => {
    const random = new Random(2);
    let applied = 0;
    for (let round = 0; round < 4_000; round++) {
      const text = Array.from({ length: 2 + random.below(6) }, () => `${random.below(1_000)}${lineOf(random)}x`).join("\n");
      const [start, end] = [random.below(text.length), random.below(text.length + 1)].sort((a, b) => a - b) as [number, number];
      const oldText = text.slice(start, end);
      const newText = Array.from({ length: 1 + random.below(3) }, () => lineOf(random)).join("\n");
      if (oldText === "" || !oldText.isWellFormed() || text.indexOf(oldText) !== text.lastIndexOf(oldText)) continue;
      applied++;
      const expected = text.slice(0, start) + newText + text.slice(end);
      const dos = (some: string) => some.replaceAll("\n", "\r\n");
      expect(apply(text, { oldText, newText })).toBe(expected);
      expect(apply(dos(text), { oldText, newText })).toBe(dos(expected));
      expect(apply(dos(text), { oldText: dos(oldText), newText })).toBe(dos(expected));
      expect(apply(text, { oldText: dos(oldText), newText: dos(newText) })).toBe(expected);
    }
    expect(applied).toBeGreaterThan(1_000);
  });

  test("a tolerant match changes no line before or behind it", () => {
    const random = new Random(3);
    const blur = (line: string) => line.replace(/[ \t\u00a0]+$/, "").replace(/[“]/g, '"').replace(/’/g, "'").replace(/–/g, "-").replace(/\u00a0/g, " ");
    for (let round = 0; round < 2_000; round++) {
      const lines = Array.from({ length: 3 + random.below(6) }, (_, index) => `${index}:${lineOf(random)}`);
      const first = random.below(lines.length);
      const last = first + random.below(lines.length - first);
      const oldText = lines.slice(first, last + 1).map(blur).join("\n");
      if (blur(oldText.split("\n").at(-1)!) === "") continue;
      const result = apply(lines.join("\r\n"), { oldText, newText: "NEW" }).split("\r\n");
      expect(result.slice(0, first)).toEqual(lines.slice(0, first));
      expect(result[first]!.trimEnd()).toBe("NEW");
      expect(result.slice(first + 1)).toEqual(lines.slice(last + 1));
    }
  });
});
