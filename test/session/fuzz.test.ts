import { afterAll, beforeAll, expect, test } from "bun:test";
import fs from "node:fs";
import path from "node:path";
import { Refusal } from "../../src/base/refusal.ts";
import type { Entry } from "../../src/session/entry.ts";
import { Session } from "../../src/session/session.ts";
import { Random } from "../support/random.ts";
import { Sandbox } from "../support/sandbox.ts";
import { assistant, entry, header, idOf, message, user } from "./made.ts";

/** More by RPI_FUZZ_FILES, others by RPI_FUZZ_SEED. */
const FILES = Number(process.env["RPI_FUZZ_FILES"] ?? 10_000);
const SEED = Number(process.env["RPI_FUZZ_SEED"] ?? 20_250_601);

let box: Sandbox;
beforeAll(() => void (box = new Sandbox()));
afterAll(() => box[Symbol.dispose]());

/** A sound session of every kind of entry, with some branches. */
function made(random: Random): string[] {
  const lines: object[] = [header(random.chance(0.1) ? { version: random.pick([undefined, 2]) } : {})];
  const count = 3 + random.below(10);
  for (let i = 1; i <= count; i++) {
    const earlier = idOf(1 + random.below(Math.max(1, i - 1)));
    const parentId = i === 1 ? null : random.chance(0.8) ? idOf(i - 1) : earlier;
    const body = random.pick<object>([
      { type: "message", message: user(`question ${i} "é" 日本`) },
      { type: "message", message: user(`and ${i}`), queueId: earlier },
      { type: "message", message: assistant(`answer ${i}\n`) },
      { type: "message", message: { role: "toolResult", toolCallId: "c", toolName: "bash", content: [{ type: "text", text: "x".repeat(random.below(300)) }], isError: false, timestamp: 0 } },
      { type: "compaction", summary: "S", firstKeptEntryId: earlier, tokensBefore: 1 },
      { type: "branch_summary", fromId: earlier, summary: "B" },
      { type: "custom", customType: "state", data: { i } },
      { type: "custom_message", customType: "note", content: "note", display: true },
      { type: "label", targetId: earlier, label: "L" },
      { type: "session_info", name: `name ${i}` },
      { type: "context_edit", targetId: earlier, replacement: random.pick([null, { content: "edited" }]) },
      { type: "model_change", provider: "p", modelId: "m" },
      { type: "thinking_level_change", thinkingLevel: "high" },
      { type: "todo_snapshot", state: { phases: [] } },
      { type: "queue", op: "add", kind: "steer", content: "later" },
      { type: "queue", op: "clear", ids: [earlier] },
      { type: "future_thing", payload: [1, 2] },
    ]);
    lines.push(random.chance(0.05) ? message(earlier, parentId, user("doubled id")) : entry(idOf(i), parentId, body));
  }
  return lines.map((line) => JSON.stringify(random.chance(0.1) ? odd(line, random) : line));
}

/** With one value in the place of another, as a program with other ideas would write it. */
function odd(record: any, random: Random): object {
  const [key, value] = random.pick(Object.entries<any>(record));
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return { ...record, [key]: isObject && random.chance(0.7) ? odd(value, random) : random.pick<unknown>([undefined, null, 5, "", "text", [], [null], {}, true, -1e300]) };
}

/** Does one thing to a file that disks, crashes and editors do. */
function damaged(bytes: Buffer, random: Random): Buffer {
  const at = random.below(bytes.length + 1);
  const to = Math.min(bytes.length, at + random.below(40));
  const lines = (): string[] => bytes.toString("latin1").split("\n");
  const joined = (parts: string[]): Buffer => Buffer.from(parts.join("\n"), "latin1");
  switch (random.below(9)) {
    case 0: // truncated
      return bytes.subarray(0, at);
    case 1: { // flipped
      const flipped = Buffer.from(bytes);
      for (let n = 1 + random.below(4); n > 0; n--) {
        const place = random.below(flipped.length);
        flipped[place] = flipped[place]! ^ (1 << random.below(8));
      }
      return flipped;
    }
    case 2: { // glued
      const parts = lines();
      const place = random.below(parts.length - 1);
      return joined([...parts.slice(0, place), `${parts[place]}${random.pick(["", " ", ",", "\r"])}${parts[place + 1]}`, ...parts.slice(place + 2)]);
    }
    case 3: // reordered
      return joined(lines().sort(() => random.next() - 0.5));
    case 4: // a piece is gone
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(to)]);
    case 5: // a piece is empty, as after a loss of power
      return Buffer.concat([bytes.subarray(0, at), Buffer.alloc(to - at), bytes.subarray(to)]);
    case 6: // a piece stands there twice
      return Buffer.concat([bytes.subarray(0, to), bytes.subarray(at)]);
    case 7: { // a line stands there twice
      const parts = lines();
      return joined([...parts, random.pick(parts), ""]);
    }
    default: // bytes from elsewhere
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(Array.from({ length: random.below(30) }, () => random.below(256))), bytes.subarray(at)]);
  }
}

/** The entries that stand whole on lines of their own, and whether a header does. */
function intact(bytes: Buffer): { entries: Entry[]; hasHeader: boolean } {
  const records: any[] = [];
  for (let start = 0; start < bytes.length; ) {
    const lf = bytes.indexOf(10, start);
    const end = lf < 0 ? bytes.length : lf;
    try {
      const record = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: start > 0 }).decode(bytes.subarray(start, end)));
      if (typeof record?.type === "string") records.push(record);
    } catch {
      // Not one that is intact.
    }
    start = end + 1;
  }
  return { entries: records.filter(({ type }) => type !== "session"), hasHeader: records.some(({ type, id }) => type === "session" && typeof id === "string" && id !== "") };
}

/** What holds of every session that could be opened. */
async function check(session: Session, expected: Entry[]): Promise<void> {
  const { entries, leafId } = await session.entries();
  const bare = ({ id, parentId, firstKeptEntryId, firstKeptEntryIndex, targetId, fromId, ...rest }: any): object => (rest.message?.role === "hookMessage" ? { ...rest, message: { ...rest.message, role: "custom" } } : rest);
  expect(entries.map(bare)).toEqual(expected.map(bare));
  const ids = new Set(entries.map(({ id }) => id));
  expect(ids.size).toBe(entries.length);
  const parents = new Map(entries.map(({ id, parentId }) => [id, parentId]));
  for (const id of ids) {
    let steps = 0;
    for (let at: string | null = id; at !== null; at = parents.get(at)!) {
      if (!parents.has(at) || steps++ > ids.size) throw new Error(`${id} does not lead to a root`);
    }
  }
  expect(leafId === null || ids.has(leafId)).toBe(true);
  expect(JSON.parse(Buffer.concat([...session.entriesJson().entries]).toString())).toEqual(JSON.parse(JSON.stringify(entries)));
  expect(JSON.parse(Buffer.concat([...session.treeJson()]).toString())).toEqual(JSON.parse(JSON.stringify(session.tree())));
  for (const read of [() => session.messages(), () => session.forkMessages(), () => session.lastAssistantText(), () => session.stats(), () => session.pendingQueue(), () => session.todos(), () => session.modelChoice(), () => [...session.branch()]]) read();
}

test(`${FILES} damaged files lose no entry that is intact, and are written on without a change to what stands there`, async () => {
  const random = new Random(SEED);
  const file = path.join(box.dir, "made.jsonl");
  const seen = { opened: 0, refused: 0, noticed: 0 };
  for (let n = 0; n < FILES; n++) {
    let bytes = Buffer.from(`${made(random).join("\n")}\n`);
    for (let times = random.below(4); times >= 0 && bytes.length > 0; times--) bytes = Buffer.from(damaged(bytes, random));
    fs.writeFileSync(file, bytes);
    const { entries, hasHeader } = intact(bytes);
    const replay = `file ${n} of seed ${SEED}`;
    let session: Session;
    try {
      session = await Session.open(file);
    } catch (error) {
      if (!(error instanceof Refusal) || hasHeader) throw new Error(replay, { cause: error });
      seen.refused++;
      continue;
    }
    try {
      seen.opened++;
      if (session.notices.length > 0) seen.noticed++;
      await check(session, entries);
      const added = session.append({ type: "message", message: user("appended") });
      session.close();
      if (!fs.readFileSync(file).subarray(0, bytes.length).equals(bytes)) throw new Error("what stood there has changed");
      const again = await Session.open(file);
      await check(again, [...entries, added]);
      expect(again.leafId).toBe(added.id);
      again.close();
    } catch (error) {
      throw new Error(replay, { cause: error });
    }
  }
  expect(seen.opened).toBeGreaterThan(FILES / 2);
  expect(seen.noticed).toBeGreaterThan(FILES / 4);
}, Math.max(60_000, FILES * 10));
