import { expect, test } from "bun:test";
import { ByteRing } from "../../src/process/ring.ts";
import { Random } from "../support/random.ts";

const text = (ring: ByteRing, from: number, to: number) => Buffer.from(ring.slice(from, to)).toString("latin1");

test("a ring keeps the last bytes and counts all", () => {
  const ring = new ByteRing(10);
  ring.push(Buffer.from("0123456"));
  expect([ring.start, ring.end, text(ring, 0, 7)]).toEqual([0, 7, "0123456"]);
  ring.push(Buffer.from("789ab"));
  expect([ring.start, ring.end, text(ring, 0, 99)]).toEqual([2, 12, "23456789ab"]);
  ring.push(Buffer.from("a piece that is longer than the ring"));
  expect([ring.start, ring.end, text(ring, 0, 99)]).toEqual([38, 48, "n the ring"]);
});

test("a slice is cut to what is kept", () => {
  const ring = new ByteRing(4);
  ring.push(Buffer.from("012345"));
  expect([text(ring, 0, 3), text(ring, 3, 5), text(ring, 6, 9), text(ring, 99, 100)]).toEqual(["2", "34", "", ""]);
});

test("whatever the pieces, the ring holds the end of the stream", () => {
  const random = new Random(7);
  for (const maxBytes of [1, 5, 1000, 40_000]) {
    const ring = new ByteRing(maxBytes);
    let all = "";
    for (let i = 0; i < 60; i += 1) {
      const piece = String.fromCharCode(33 + (i % 90)).repeat(random.below(Math.ceil(maxBytes * 0.7)));
      all += piece;
      ring.push(Buffer.from(piece, "latin1"));
      expect([ring.end, ring.start]).toEqual([all.length, Math.max(0, all.length - maxBytes)]);
      expect(text(ring, 0, ring.end) === all.slice(-maxBytes)).toBe(true);
    }
  }
});
