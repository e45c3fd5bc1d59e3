import { expect, test } from "bun:test";
import { type ByteSink, RecordWriter, type Waiting } from "../../src/base/record-writer.ts";

/** A sink whose reader takes what `take` lets it. */
class SlowSink implements ByteSink {
  #bytes: Buffer[] = [];
  #waiting: (() => void)[] = [];
  constructor(public open = true) {}
  write(bytes: Uint8Array | string): number {
    this.#bytes.push(Buffer.from(bytes as string));
    return bytes.length;
  }
  get text(): string {
    return Buffer.concat(this.#bytes).toString("utf8");
  }
  flush(): number | Promise<number> {
    return this.open ? 0 : new Promise((resolve) => this.#waiting.push(() => resolve(0)));
  }
  take(): void {
    this.open = true;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

class Text implements Waiting {
  constructor(readonly key: string, private words: string) {}
  get size() { return this.words.length; }
  merge(next: Waiting) { this.words += (next as Text).words; return true; }
  text() { return JSON.stringify(this.words); }
}

test("records are written in order, one a line, together when they are ready together", async () => {
  const sink = new SlowSink();
  const writer = new RecordWriter(sink, () => {});
  writer.write("1");
  writer.writeWaiting(new Text("t", "two"));
  writer.write("3");
  await writer.whenWritten();
  expect(sink.text).toBe('1\n"two"\n3\n');
  expect(writer.pendingBytes).toBe(0);
});

test("records that follow one another are merged only while they wait", async () => {
  const sink = new SlowSink(false);
  const writer = new RecordWriter(sink, () => {});
  writer.write("first");
  await new Promise(setImmediate);
  for (const word of ["a", "b", "c"]) writer.writeWaiting(new Text("t", word));
  writer.write("between");
  writer.writeWaiting(new Text("t", "d"));
  writer.writeWaiting(new Text("u", "e"));
  sink.take();
  await writer.whenWritten();
  expect(sink.text).toBe('first\n"abc"\nbetween\n"d"\n"e"\n');
});

test("whenBelow tells how far the reader is behind", async () => {
  const sink = new SlowSink(false);
  const writer = new RecordWriter(sink, () => {});
  expect(writer.whenBelow(10)).toBeUndefined();
  writer.write("x".repeat(1000));
  const low = writer.whenBelow(500);
  expect(low).toBeInstanceOf(Promise);
  let resolved = false;
  void low!.then(() => { resolved = true; });
  await new Promise((resolve) => setImmediate(resolve));
  expect(resolved).toBe(false);
  sink.take();
  await low;
  expect(writer.pendingBytes).toBe(0);
});

test("a reader that is gone ends every wait, once, and nothing more is written", async () => {
  let deaths = 0;
  const sink: ByteSink = { write: (bytes) => bytes.length, flush: () => Promise.reject(Object.assign(new Error("broken pipe"), { code: "EPIPE" })) };
  const writer = new RecordWriter(sink, () => { deaths += 1; });
  writer.write("a");
  const low = writer.whenBelow(1);
  await writer.whenWritten();
  await low;
  writer.write("b");
  await writer.whenWritten();
  expect({ deaths, dead: writer.dead, pending: writer.pendingBytes }).toEqual({ deaths: 1, dead: true, pending: 0 });
});

test("a record that is bytes in pieces keeps its place", async () => {
  const sink = new SlowSink();
  const writer = new RecordWriter(sink, () => {});
  writer.write("1");
  writer.write([Buffer.from('{"é":'), Buffer.from("2}")]);
  writer.writeWaiting(new Text("t", "3"));
  expect(writer.pendingBytes).toBe(2 + 9 + 1);
  await writer.whenWritten();
  expect(sink.text).toBe('1\n{"é":2}\n"3"\n');
  expect(writer.pendingBytes).toBe(0);
});

test("a long record goes out whole", async () => {
  const sink = new SlowSink();
  const writer = new RecordWriter(sink, () => {});
  const long = `"${"é🎉x".repeat(100_000)}"`;
  writer.write(long);
  writer.write("end");
  await writer.whenWritten();
  expect(sink.text.length).toBe(long.length + 5);
  expect(sink.text.endsWith("\nend\n")).toBe(true);
});
