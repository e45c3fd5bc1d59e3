import { expect, test } from "bun:test";
import { OutputEvents, type OutputPiece } from "../../src/process/output-events.ts";
import { ByteRing } from "../../src/process/ring.ts";
import { until } from "../support/until.ts";

function rig(maxBytes: number) {
  const pieces: OutputPiece[] = [];
  const state = { isPressed: false, now: 0 };
  const events = new OutputEvents({ ring: new ByteRing(maxBytes), maxBytes, emit: (piece) => void pieces.push(piece), isPressed: () => state.isPressed, now: () => state.now });
  return { pieces, state, events, cursors: () => pieces.map(({ startCursor, cursor }) => [startCursor, cursor]), push: (length: number) => events.push(Buffer.alloc(length, "x")) };
}

test("what comes after a quiet moment is told at once, what follows it closely is gathered and told as one", async () => {
  const { pieces, events, state } = rig(1000);
  const piece = (startCursor: number, text: string): OutputPiece => ({ startCursor, cursor: startCursor + text.length, dataBase64: Buffer.from(text).toString("base64") });
  events.push(Buffer.from("ab"));
  expect(pieces).toEqual([piece(0, "ab")]);
  state.now += 1;
  events.push(Buffer.from("c"));
  state.now += 1;
  events.push(Buffer.from("d"));
  expect(pieces.length).toBe(1);
  await until(() => pieces.length > 1, "an event");
  expect(pieces.slice(1)).toEqual([piece(2, "cd")]);
  state.now += 1;
  events.push(Buffer.from("e"));
  state.now += 10;
  events.push(Buffer.from("f"));
  expect(pieces.slice(2)).toEqual([piece(4, "ef")]);
});

test("full pieces are told at once, the rest at the end", () => {
  const { push, events, cursors } = rig(1024 * 1024);
  push(1);
  push(150_000);
  expect(cursors()).toEqual([[0, 1], [1, 65_537], [65_537, 131_073]]);
  events.end();
  expect(cursors()).toEqual([[0, 1], [1, 65_537], [65_537, 131_073], [131_073, 150_001]]);
  events.end();
  expect(cursors().length).toBe(4);
});

test("a small ring is told whole too, in pieces that fit", () => {
  const { push, events, cursors } = rig(10);
  push(7);
  push(18);
  events.end();
  expect(cursors()).toEqual([[0, 7], [7, 17], [17, 25]]);
});

test("under pressure nothing is told, afterwards the newest piece, and the last one in any case: the cursors show the gaps", async () => {
  const { push, events, state, cursors } = rig(1024 * 1024);
  state.isPressed = true;
  push(500_000);
  expect(cursors()).toEqual([]);
  state.isPressed = false;
  await until(() => cursors().length > 0, "an event");
  expect(cursors()).toEqual([[500_000 - 65_536, 500_000]]);
  state.isPressed = true;
  push(100_000);
  expect(cursors().length).toBe(1);
  events.end();
  expect(cursors().slice(1)).toEqual([[600_000 - 65_536, 600_000]]);
});
