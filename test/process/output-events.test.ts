import { expect, test } from "bun:test";
import { OutputEvents, type OutputPiece } from "../../src/process/output-events.ts";
import { ByteRing } from "../../src/process/ring.ts";
import { until } from "../support/until.ts";

function rig(maxBytes: number) {
  const pieces: OutputPiece[] = [];
  const state = { isPressed: false };
  const events = new OutputEvents({ ring: new ByteRing(maxBytes), maxBytes, emit: (piece) => void pieces.push(piece), isPressed: () => state.isPressed });
  return { pieces, state, events, cursors: () => pieces.map(({ startCursor, cursor }) => [startCursor, cursor]), push: (length: number) => events.push(Buffer.alloc(length, "x")) };
}

test("small pieces are gathered for a moment and told as one", async () => {
  const { pieces, events } = rig(1000);
  events.push(Buffer.from("ab"));
  events.push(Buffer.from("c"));
  expect(pieces).toEqual([]);
  await until(() => pieces.length > 0, "an event");
  expect(pieces).toEqual([{ startCursor: 0, cursor: 3, dataBase64: Buffer.from("abc").toString("base64") }]);
});

test("full pieces are told at once, the rest at the end", () => {
  const { push, events, cursors } = rig(1024 * 1024);
  push(150_000);
  expect(cursors()).toEqual([[0, 65_536], [65_536, 131_072]]);
  events.end();
  expect(cursors()).toEqual([[0, 65_536], [65_536, 131_072], [131_072, 150_000]]);
  events.end();
  expect(cursors().length).toBe(3);
});

test("a small ring is told whole too, in pieces that fit", () => {
  const { push, events, cursors } = rig(10);
  push(7);
  push(18);
  events.end();
  expect(cursors()).toEqual([[0, 10], [10, 20], [20, 25]]);
});

test("under pressure nothing is told, and afterwards the newest piece: the cursors show the gap", async () => {
  const { push, events, state, cursors } = rig(1024 * 1024);
  state.isPressed = true;
  push(500_000);
  expect(cursors()).toEqual([]);
  state.isPressed = false;
  await until(() => cursors().length > 0, "an event");
  expect(cursors()).toEqual([[500_000 - 65_536, 500_000]]);
  state.isPressed = true;
  push(3);
  events.end();
  expect(cursors().length).toBe(1);
});
