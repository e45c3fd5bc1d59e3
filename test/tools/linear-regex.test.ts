import { describe, expect, test } from "bun:test";
import { lineMatcher } from "../../src/tools/line-matcher.ts";
import { LinearRegex } from "../../src/tools/linear-regex.ts";
import { parseRegex, Unsupported } from "../../src/tools/regex-parse.ts";
import { Random } from "../support/random.ts";

const linear = (source: string, flags = "") => new LinearRegex(parseRegex(source, flags.includes("u")), flags);

describe("the linear matcher", () => {
  test("finds what a regular expression finds", () => {
    const patterns = ["a", "^a", "a$", "^$", "a|b", "(a|ab)(c|bcd)", "a*b+c?", "a{2}", "a{2,}b", "a{1,3}$", "[a-c]x", "[^a]b", "\\bab\\b", "\\Bb", "\\d+\\.\\d*", "\\w\\s\\W", ".a.", "(?:ab)+c", "(?<n>a)b", "a??b", "a*?$", "\\x61\\u0062", "[\\]\\-a]", "a{", "{", "a{,2}", "]", "}", "\\/", "\\.", "\\$", "(a*)*b", "(a|b*)+c", "()", "a||b", "[]", "[^]"];
    const lines = ["", "a", "b", "ab", "abc", "abcd", "aab", "aaab", "xab y", "ba", "a-]", "1.5", "a b!", "a{", "a{,2}", "}]/.$", "cccx", "bbb", "aaaa", "é漢😀a"];
    for (const source of patterns) {
      const mine = linear(source);
      const theirs = new RegExp(source);
      expect({ source, found: lines.filter((line) => mine.matchEnd(line) !== -1) }).toEqual({ source, found: lines.filter((line) => theirs.test(line)) });
    }
  });

  test("knows case and Unicode by the flags", () => {
    expect(linear("äb", "i").matchEnd("xÄB")).toBe(3);
    expect(linear("^.$", "u").matchEnd("😀")).toBe(2);
    expect(linear("^.$").matchEnd("😀")).toBe(-1);
    expect(linear("\\p{Lu}\\u{1F600}", "u").matchEnd("aÄ😀")).toBe(4);
  });

  test("agrees with regular expressions on random patterns and lines", () => {
    const random = new Random(11);
    const atom = (depth: number): string => random.pick([() => random.pick(["a", "b", "c", ".", "\\w", "\\d", "[ab]", "[^a]", "\\b", "^", "$", "1", " "]), () => (depth > 0 ? `(${some(depth - 1)})` : "a"), () => (depth > 0 ? `(?:${some(depth - 1)})` : "b")])();
    const piece = (depth: number): string => {
      const one = atom(depth);
      return /^(?:\\b|\^|\$)$/.test(one) ? one : one + random.pick(["", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,}", "*?"]);
    };
    const some = (depth: number): string => Array.from({ length: 1 + random.below(2) }, () => Array.from({ length: 1 + random.below(3) }, () => piece(depth)).join("")).join("|");
    let found = 0;
    for (let round = 0; round < 3_000; round++) {
      const source = some(2);
      const mine = linear(source);
      const theirs = new RegExp(source);
      for (let index = 0; index < 6; index++) {
        const line = Array.from({ length: random.below(8) }, () => random.pick(["a", "b", "c", "1", " ", "."])).join("");
        const isFound = theirs.test(line);
        if (isFound) found++;
        expect({ source, line, isFound: mine.matchEnd(line) !== -1 }).toEqual({ source, line, isFound });
      }
    }
    expect(found).toBeGreaterThan(1_000);
  });

  test("what it cannot match is named", () => {
    const why = (source: string) => {
      try {
        linear(source);
      } catch (error) {
        return error instanceof Unsupported ? error.message : String(error);
      }
      return undefined;
    };
    expect(["a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b", "(a)\\1", "(?<x>a)\\k<x>", "(?i:a)", "(?:a{1000}){1000}"].map(why)).toEqual(["look-around", "look-around", "look-around", "look-around", "back-references", "back-references", "flags inside the pattern", "so many repetitions"]);
  });

  test("its time grows with the line only, where a backtracking search would not end", () => {
    const line = "a".repeat(100_000);
    const begin = performance.now();
    for (const source of ["(a+)+b", "(a|aa)+b", "a*a*a*a*b", "(.*a){12}b", "(a?){30}a{30}b"]) expect(linear(source).matchEnd(line)).toBe(-1);
    expect(performance.now() - begin).toBeLessThan(5_000);
  });
});

describe("a pattern as models write it", () => {
  const find = (pattern: string, line: string, o: { literal?: boolean; ignoreCase?: boolean } = {}) => lineMatcher(pattern, { literal: false, ignoreCase: false, ...o }).find(line);
  const failure = (pattern: string) => {
    try {
      lineMatcher(pattern, { literal: false, ignoreCase: false });
    } catch (error) {
      return (error as Error).message;
    }
    throw new Error("it was taken");
  };

  test("text, case and inline flags", () => {
    expect([find("a.b", "a.b axb", { literal: true }), find("x.b", "a.b", { literal: true }), find("A.B", "xa.b", { literal: true, ignoreCase: true })]).toEqual([0, -1, 1]);
    expect([find("NEEDLE", "needle"), find("NEEDLE", "needle", { ignoreCase: true }), find("(?i)NEEDLE", "needle")]).toEqual([-1, 0, 0]);
    expect([find("[[:alpha:]_]+[[:digit:]]", "--ab_1"), find("[[:space:]]x", "a x"), find("\\p{Lu}b", "aÄb")].every((at) => at >= 0)).toBe(true);
  });

  test("a broken pattern is told with a way out", () => {
    expect(failure("foo(")).toBe("The pattern is no valid regular expression: missing ). Escape special characters with \\, or give literal=true to search for the text as it is.");
  });

  test("look-around works while it cannot run for ever", () => {
    expect([find("foo(?!bar)", "foobar foobaz"), find("(?<=\\$)\\d+", "cost $12"), find("(a)\\1", "baa")]).toEqual([7, 6, 1]);
    expect(failure("^(?!.*test).*foo.*$")).toBe("This pattern uses look-around together with repetition and could search for ever. Write it without look-around, or use bash with another program.");
  });

  test("no pattern takes long on any line", () => {
    const begin = performance.now();
    for (const pattern of ["(a+)+b", "(x+x+)+y", ".*.*.*=", "(a|a)*b", "(.*)*z", "a?a?a?a?a?a?a?a?a?a?a?a?aaaaaaaaaaaab", "\\s+\\s+$", "^(\\w+\\s?)*$!"]) {
      for (const line of ["a".repeat(40), "a".repeat(2_000), "x".repeat(500), " ".repeat(5_000), "word ".repeat(200)]) find(pattern, line);
    }
    expect(performance.now() - begin).toBeLessThan(3_000);
  });

  test("lines without the text that each match must hold need not be looked at", () => {
    const needle = (pattern: string, ignoreCase = false) => lineMatcher(pattern, { literal: false, ignoreCase }).needle?.toString();
    expect(["foo\\s+barbaz", "\\bfoo\\b", "fo*bar", "(?:foo|bar)x", "a|b", "\\d+", "é漢", "fooo?bar", "(foobar)+", "x(abc)y"].map((pattern) => needle(pattern))).toEqual(["barbaz", "foo", "bar", undefined, undefined, undefined, "é漢", "foo", undefined, "xabcy"]);
    expect(needle("foo", true)).toBeUndefined();
  });
});
