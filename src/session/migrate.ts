import type { Entry, EntryBody } from "./entry.ts";

/*
 * Files of versions 1 and 2 are understood in memory and only appended to, with entries of version 3.
 *
 * Version 1 has no ids: each entry follows the one before it. It gets an id that is computed from its offset, so
 * that it is the same whenever the file is opened and entries that were appended since still find their parents.
 * pi rewrites such a file when it opens it: it gives every entry, ours too, a new id and chains them in the order of
 * the file, which is the order that we append in. What it cannot follow are ids within our entries, so two of
 * them are said twice: see `forVersion1`.
 *
 * Version 2 differs in one role's name only, and pi renames it and leaves the rest alone.
 */

/** An entry of any version as version 3 says it; the same object when there is nothing to change. */
export function migrated(entry: Entry): Entry {
  const message: { role?: unknown } | undefined = entry.type === "message" ? entry.message : undefined;
  return message?.role === "hookMessage" ? ({ ...entry, message: { ...message, role: "custom" } } as unknown as Entry) : entry;
}

/** The id of an entry that has none of its own, from the offset of its line. */
export function derivedId(at: number, isTaken: (id: string) => boolean): string {
  let word = Math.imul((at % 0x100000000) ^ Math.floor(at / 0x100000000), 0x9e3779b1) >>> 0;
  word = Math.imul(word ^ (word >>> 15), 0x85ebca77) >>> 0;
  for (;;) {
    const id = word.toString(16).padStart(8, "0");
    if (!isTaken(id)) return id;
    word = (word + 1) >>> 0;
  }
}

/**
 * What to append to a file of version 1 for an entry: a compaction also names the first kept entry by its number
 * among the records, the header being 0, which pi turns into that entry's new id; a queued message also holds its id
 * in a field that pi leaves alone, so that the delivered message still finds it.
 */
export function forVersion1<Body extends EntryBody>(body: Body, id: string, find: (id: string) => { index: number } | undefined): Body {
  if (body.type === "queue" && body.op === "add") return { ...body, queueId: id };
  const firstKept = body.type === "compaction" ? find(body.firstKeptEntryId) : undefined;
  return firstKept ? { ...body, firstKeptEntryIndex: firstKept.index + 1 } : body;
}
