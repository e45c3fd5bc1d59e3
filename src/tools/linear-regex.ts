import { type Node, Unsupported } from "./regex-parse.ts";

/** Steps of the automaton: one character, a choice, a look at the place, the end. */
type Step =
  | { kind: "one"; has(code: number): boolean; next: number }
  | { kind: "fork"; first: number; second: number }
  | { kind: "assert"; what: "start" | "end" | "word" | "notWord"; next: number }
  | { kind: "done" };

const MAX_STEPS = 10_000;
const MAX_STATES = 2_000;
const MAX_MOVES = 200_000;

/** What stands before or behind a place. */
const EDGE = 0;
const WORD = 1;
const OTHER = 2;
type Side = typeof EDGE | typeof WORD | typeof OTHER;

/** All the places of the pattern that the text so far can have led to. */
interface State {
  steps: readonly number[];
  before: Side;
  /** Where each character leads, as far as it was asked; null when there was a match before it. */
  ascii: (State | null | undefined)[];
  moves: Map<number, State | null>;
  /** Matches when the line ends here; undefined until somebody asked. */
  atEnd: boolean | undefined;
}

/**
 * A regular expression whose time grows with the length of the line and nothing else: it follows all
 * ways through the pattern at once, where a backtracking one may try them one by one for years.
 */
export class LinearRegex {
  readonly #steps: Step[] = [];
  readonly #start: number;
  readonly #flags: string;
  readonly #isUnicode: boolean;
  readonly #word: RegExp;
  #states = new Map<string, State>();
  #moves = 0;

  /** Throws Unsupported when the pattern, its repetitions written out, is too large. */
  constructor(node: Node, flags: string) {
    this.#flags = flags;
    this.#isUnicode = flags.includes("u");
    this.#word = new RegExp("^\\w$", flags);
    const done = this.#add({ kind: "done" });
    this.#start = this.#compile(node, done);
  }

  /** The place behind the shortest match, or -1. */
  matchEnd(line: string): number {
    let state = this.#state([this.#start], EDGE);
    for (let at = 0; at < line.length; ) {
      const code = this.#isUnicode ? line.codePointAt(at)! : line.charCodeAt(at);
      let next = code < 128 ? state.ascii[code] : state.moves.get(code);
      if (next === undefined) next = this.#move(state, code);
      if (next === null) return at;
      state = next;
      at += code > 0xffff ? 2 : 1;
    }
    state.atEnd ??= this.#reach(state, EDGE) === undefined;
    return state.atEnd ? line.length : -1;
  }

  #compile(node: Node, next: number): number {
    switch (node.kind) {
      case "one":
        return this.#add({ kind: "one", has: this.#tester(node.test), next });
      case "assert":
        return this.#add({ kind: "assert", what: node.what, next });
      case "all":
        return node.nodes.reduceRight((after, one) => this.#compile(one, after), next);
      case "any":
        return node.nodes.map((one) => this.#compile(one, next)).reduceRight((second, first) => this.#add({ kind: "fork", first, second }));
      case "repeat":
        return this.#repeat(node.node, node.min, node.max, next);
    }
  }

  #repeat(node: Node, min: number, max: number, next: number): number {
    let at = next;
    if (max === Infinity) {
      const fork = this.#add({ kind: "fork", first: next, second: next });
      this.#steps[fork] = { kind: "fork", first: this.#compile(node, fork), second: next };
      at = fork;
    } else {
      for (let time = min; time < max; time++) at = this.#add({ kind: "fork", first: this.#compile(node, at), second: next });
    }
    for (let time = 0; time < min; time++) at = this.#compile(node, at);
    return at;
  }

  #add(step: Step): number {
    if (this.#steps.length >= MAX_STEPS) throw new Unsupported("so many repetitions");
    return this.#steps.push(step) - 1;
  }

  #tester(test: string): (code: number) => boolean {
    const regex = new RegExp(`^(?:${test})$`, this.#flags);
    const known = new Map<number, boolean>();
    return (code) => {
      let has = known.get(code);
      if (has === undefined) {
        has = regex.test(String.fromCodePoint(code));
        if (known.size < 5_000) known.set(code, has);
      }
      return has;
    };
  }

  /** Where a character leads; null when there was a match before it. */
  #move(state: State, code: number): State | null {
    const side = this.#word.test(String.fromCodePoint(code)) ? WORD : OTHER;
    const reached = this.#reach(state, side);
    const next = reached && this.#state([this.#start, ...reached.filter(({ has }) => has(code)).map(({ next }) => next)], side);
    if (++this.#moves > MAX_MOVES) {
      this.#states.clear();
      this.#moves = 0;
    }
    if (code < 128) state.ascii[code] = next ?? null;
    else state.moves.set(code, next ?? null);
    return next ?? null;
  }

  /** The characters that may come next, all choices made and places looked at; undefined when there is a match. */
  #reach(state: State, after: Side): Extract<Step, { kind: "one" }>[] | undefined {
    const ones: Extract<Step, { kind: "one" }>[] = [];
    const seen = new Set<number>();
    const waiting = [...state.steps];
    const isBorder = (state.before === WORD) !== (after === WORD);
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (seen.has(at)) continue;
      seen.add(at);
      const step = this.#steps[at]!;
      if (step.kind === "done") return undefined;
      if (step.kind === "one") ones.push(step);
      else if (step.kind === "fork") waiting.push(step.first, step.second);
      else if (step.what === "start" ? state.before === EDGE : step.what === "end" ? after === EDGE : (step.what === "word") === isBorder) waiting.push(step.next);
    }
    return ones;
  }

  #state(steps: readonly number[], before: Side): State {
    const sorted = [...new Set(steps)].sort((a, b) => a - b);
    const key = `${before} ${sorted.join(" ")}`;
    let state = this.#states.get(key);
    if (!state) {
      if (this.#states.size >= MAX_STATES) this.#states.clear();
      state = { steps: sorted, before, ascii: new Array<undefined>(128).fill(undefined), moves: new Map(), atEnd: undefined };
      this.#states.set(key, state);
    }
    return state;
  }
}
