import { wellFormed } from "../base/json.ts";
import { Entries, type EntryNode } from "./entries.ts";
import { SESSION_VERSION, type Entry, type SessionHeader } from "./entry.ts";
import { SessionFile, SessionWriteError } from "./file.ts";
import { Ledger } from "./ledger.ts";

/** Entries that are not worth a file of their own: they are written with the first one that is. */
const HELD_BACK = new Set(["model_change", "thinking_level_change"]);

/** All entries of a session and the file that they go to. */
export class Journal {
  #isClosed = false;

  constructor(
    readonly header: SessionHeader,
    /** Told before the file exists; undefined in memory. */
    readonly path: string | undefined,
    readonly entries = new Entries(),
    readonly ledger = new Ledger(),
    /** Of the file. */
    readonly version: number = SESSION_VERSION,
    private file?: SessionFile,
  ) {
    if (file) entries.source = file;
  }

  /** Makes the file, with what was held back, if it is not there yet. */
  begin(): void {
    this.#write([]);
  }

  /**
   * Adds entries, in one write. Those that wait for a file stay in memory until it is made. Throws SessionWriteError
   * and adds nothing when they cannot be written.
   */
  add(added: readonly Entry[]): EntryNode[] {
    const lines = this.file || added.some(({ type }) => !HELD_BACK.has(type)) ? this.#write(added) : undefined;
    return added.map((entry, i) => {
      const node = this.entries.push(entry);
      if (lines) this.#place(node, lines[i]!);
      this.ledger.take(entry);
      return node;
    });
  }

  sync(): void {
    this.file?.sync();
  }

  close(): void {
    this.#isClosed = true;
    this.file?.close();
    this.file = undefined;
    this.entries.source = undefined;
  }

  /** Takes away a file that could not be made whole. */
  discard(): void {
    this.#isClosed = true;
    this.file?.discard();
    this.file = undefined;
    this.entries.source = undefined;
  }

  /** Writes entries and tells where their lines stand; undefined in memory. */
  #write(added: readonly Entry[]): Line[] | undefined {
    if (this.path === undefined) return undefined;
    if (this.#isClosed) throw new SessionWriteError(this.path, "EBADF", "the session has been closed");
    if (this.file) return this.#append(this.file, added.map((entry) => this.#lineOf(entry)));
    const heldBack = this.entries.nodes;
    const records = [this.header, ...heldBack.map((node) => this.entries.body(node)), ...added];
    const file = SessionFile.create(this.path);
    try {
      const [, ...lines] = this.#append(file, records.map((record) => wellFormed(JSON.stringify(record))));
      this.file = this.entries.source = file;
      for (const node of heldBack) this.#place(node, lines.shift()!);
      return lines;
    } catch (error) {
      file.discard();
      throw error;
    }
  }

  #append(file: SessionFile, texts: string[]): Line[] {
    if (texts.length === 0) return [];
    let at = file.append(`${texts.join("\n")}\n`);
    return texts.map((text) => {
      const line = { at, length: Buffer.byteLength(text) };
      at += line.length + 1;
      return line;
    });
  }

  /** The file calls a parent whose id was taken by what stands there, so that other programs find it too. */
  #lineOf(entry: Entry): string {
    const parentId = this.entries.idInFile(entry.parentId);
    return wellFormed(JSON.stringify(parentId === entry.parentId ? entry : { ...entry, parentId }));
  }

  #place(node: EntryNode, { at, length }: Line): void {
    node.at = at;
    node.length = length;
    node.isChanged = this.entries.idInFile(node.parentId) !== node.parentId;
  }
}

interface Line {
  at: number;
  length: number;
}
