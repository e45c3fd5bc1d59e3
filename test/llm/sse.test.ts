import { describe, expect, test } from "bun:test";
import { readEvents, type OnEvent } from "../../src/llm/sse.ts";
import { Watch } from "../../src/llm/watch.ts";
import { LONG } from "./ask.ts";

const bytes = new TextEncoder();

/** Reads a body that comes in exactly these pieces; gives the events' data, and what came as a whole. */
async function read(pieces: (string | Uint8Array)[], onEvent?: OnEvent) {
  const events: string[] = [];
  let whole: string | undefined;
  const body = new ReadableStream({
    pull(controller) {
      const piece = pieces.shift();
      if (piece === undefined) controller.close();
      else controller.enqueue(typeof piece === "string" ? bytes.encode(piece) : piece);
    },
  }, { highWaterMark: 0 });
  const watch = new Watch(LONG, "nowhere", async () => true, () => {});
  await readEvents(new Response(body), {
    watch,
    signal: new AbortController().signal,
    ready: undefined,
    onEvent: (data, event) => {
      events.push(event ? `${event}: ${data}` : data);
      return onEvent?.(data, event) ?? true;
    },
    onWhole: (text) => { whole = text; },
  });
  watch.stop();
  return whole === undefined ? events : { whole };
}

const STREAM = 'data: {"a":"é漢🎉"}\n\nevent: named\ndata: two\ndata: lines\n\n: a comment\n\ndata:no space\n\nid: 7\nretry: 5\n\ndata: [DONE]\n\n';
const EVENTS = ['{"a":"é漢🎉"}', "named: two\nlines", "no space", "[DONE]"];

describe("Events are the same", () => {
  test("cut at every byte", async () => {
    const stream = bytes.encode(STREAM);
    expect(await read([...stream].map((_, at) => stream.slice(at, at + 1)))).toEqual(EVENTS);
    for (let at = 1; at < stream.length; at += 1) expect(await read([stream.slice(0, at), stream.slice(at)])).toEqual(EVENTS);
  });
  for (const [name, ending] of [["CR LF", "\r\n"], ["CR alone", "\r"]] as const) {
    test(`with ${name}, cut at every byte`, async () => {
      const stream = bytes.encode(STREAM.replaceAll("\n", ending));
      for (let at = 1; at < stream.length; at += 1) expect(await read([stream.slice(0, at), stream.slice(at)])).toEqual(EVENTS);
    });
  }
  test("behind a byte order mark, cut in its middle too", async () => {
    const stream = bytes.encode(`\ufeff${STREAM}`);
    for (const at of [0, 1, 2, 3, 4]) expect(await read([stream.slice(0, at), stream.slice(at)])).toEqual(EVENTS);
  });
  test("without the last blank line, or the last line's end", async () => {
    expect(await read([STREAM.slice(0, -1)])).toEqual(EVENTS);
    expect(await read([STREAM.slice(0, -2)])).toEqual(EVENTS);
  });
});

test("After the last event nothing more is taken, though more stands in the same piece", async () => {
  expect(await read(["data: 1\n\ndata: end\n\ndata: 3\n\n", "data: 4\n\n"], (data) => (data === "end" ? "end" : true))).toEqual(["1", "end"]);
});

test("JSON and web pages are given whole, in however many pieces", async () => {
  expect(await read([" \n", '{"a":', "1}\n"])).toEqual({ whole: '{"a":1}' });
  expect(await read(["<ht", "ml>"])).toEqual({ whole: "<html>" });
});

test("An empty body has no events", async () => {
  expect(await read([])).toEqual([]);
});
