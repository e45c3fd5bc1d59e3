import { randomHex } from "../base/random.ts";
import type { MessageBuilder } from "./builder.ts";
import { JsonEnd } from "./json-end.ts";

/** One tool call of the answer, as far as it is known. */
interface Slot {
  index: number | undefined;
  /** The id that the server uses, which may come late or never. */
  wireId: string | undefined;
  name: string | undefined;
  /** The content index once it has begun, which takes a name and an id. */
  at: number | undefined;
  /** Arguments that came before it could begin. */
  waiting: string[];
  end: JsonEnd;
}

/** A piece of `delta.tool_calls` as servers send it. */
interface Entry {
  index?: unknown;
  id?: unknown;
  function?: { name?: unknown; arguments?: unknown } | null;
}

/**
 * Sorts pieces of tool calls into calls, whatever a server makes of `index`, `id` and `name`: a new id is a new
 * call, and so is an object that follows a complete one; two objects are never put together.
 */
export class OpenAICalls {
  readonly #builder: MessageBuilder;
  readonly #slots: Slot[] = [];
  readonly #ids = new Set<string>();

  constructor(builder: MessageBuilder) {
    this.#builder = builder;
  }

  feed(entries: readonly Entry[]): void {
    for (const entry of entries) {
      if (typeof entry !== "object" || entry === null) continue;
      const id = filled(entry.id);
      const name = filled(entry.function?.name);
      const given = entry.function?.arguments;
      const text = typeof given === "string" ? given : given === undefined || given === null ? "" : JSON.stringify(given);
      const slot = this.#slotOf(typeof entry.index === "number" ? entry.index : undefined, id, name, text);
      slot.name ??= name;
      slot.wireId ??= id;
      this.#begin(slot, false);
      this.#add(slot, text);
    }
  }

  /** Nothing more comes: every call begins and ends. */
  end(): void {
    for (const slot of this.#slots) {
      this.#begin(slot, true);
      if (slot.at !== undefined) this.#builder.closeCall(slot.at);
    }
  }

  #slotOf(index: number | undefined, id: string | undefined, name: string | undefined, text: string): Slot {
    const last = this.#slots.at(-1);
    const open = index === undefined ? last : this.#slots.findLast((slot) => slot.index === index);
    if (id !== undefined) {
      const known = this.#slots.findLast((slot) => slot.wireId === id && (index === undefined || slot.index === undefined || slot.index === index));
      if (known) return known;
      const isLateId = open && open.wireId === undefined && !(open.end.isComplete && text.trim() !== "") && (name === undefined || open.name === undefined || open.name === name);
      return isLateId ? open : this.#new(index, name);
    }
    // Without name and id it is more of a call that has begun, though the index be another.
    if (!open) return name === undefined && last ? last : this.#new(index, name);
    const isOther = name !== undefined && open.name !== undefined && (open.name !== name || (open.end.isComplete && text.trim() !== ""));
    return isOther ? this.#new(index, name) : open;
  }

  #new(index: number | undefined, name: string | undefined): Slot {
    // Calls begin in their order: one that still waits for its id does so no longer.
    for (const slot of this.#slots) if (slot.name !== undefined) this.#begin(slot, true);
    const slot: Slot = { index, wireId: undefined, name, at: undefined, waiting: [], end: new JsonEnd() };
    this.#slots.push(slot);
    return slot;
  }

  #add(slot: Slot, text: string): void {
    let rest = text;
    let current = slot;
    while (rest !== "") {
      if (current.end.isComplete) {
        if (!rest.trimStart().startsWith("{")) return;
        current = this.#new(current.index, current.name);
      }
      const end = current.end.feed(rest);
      const piece = end < 0 ? rest : rest.slice(0, end);
      rest = end < 0 ? "" : rest.slice(end);
      if (current.at === undefined) current.waiting.push(piece);
      else this.#builder.callDelta(current.at, piece);
      this.#closeComplete(current);
    }
  }

  /** Begins a call that has its name and id; `force` makes up what is missing. */
  #begin(slot: Slot, force: boolean): void {
    if (slot.at !== undefined || (!force && (slot.name === undefined || slot.wireId === undefined))) return;
    const id = slot.wireId === undefined || this.#ids.has(slot.wireId) ? `call_${randomHex(8)}` : slot.wireId;
    this.#ids.add(id);
    slot.at = this.#builder.openCall(id, slot.name ?? "unknown");
    this.#builder.callDelta(slot.at, slot.waiting.join(""));
    slot.waiting = [];
    this.#closeComplete(slot);
  }

  #closeComplete(slot: Slot): void {
    if (slot.at !== undefined && slot.end.isComplete) this.#builder.closeCall(slot.at);
  }
}

function filled(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
