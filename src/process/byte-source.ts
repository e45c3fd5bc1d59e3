import { closeSync } from "node:fs";
import { system } from "./system.ts";

/** What a child has written, a piece at a time; what nobody reads stays in the pipe and holds the child up. */
export interface ByteSource {
  /** The next piece, or undefined at the end. One read at a time. */
  read(): Promise<Uint8Array | undefined>;
  /** Whether bytes wait in the pipe right now. False also where that cannot be told. */
  hasMore(): boolean;
  /** Gives the pipe up. A pending read ends. Safe to repeat. */
  close(): Promise<void>;
}

/** Reads the read end of a pipe and owns it. */
export function readPipe(fd: number): ByteSource {
  const reader = Bun.file(fd).stream().getReader();
  let isOpen = true;
  const release = () => {
    if (!isOpen) return;
    isOpen = false;
    // Bun leaves the descriptor of Bun.file(fd) open.
    closeSync(fd);
  };
  return {
    async read() {
      if (!isOpen) return undefined;
      const { done, value } = await reader.read();
      if (!done) return value;
      release();
      return undefined;
    },
    hasMore: () => isOpen && system.hasBytes(fd),
    async close() {
      if (!isOpen) return;
      await reader.cancel();
      release();
    },
  };
}

/** Reads several streams as one, in the order in which their pieces come. */
export function readStreams(streams: readonly ReadableStream<Uint8Array>[]): ByteSource {
  const readers = streams.map((stream) => stream.getReader());
  type Arrival = { from: number; piece: Uint8Array | undefined };
  const pending = new Map<number, Promise<Arrival>>();
  const ask = (from: number) =>
    pending.set(from, readers[from]!.read().then(({ done, value }) => ({ from, piece: done ? undefined : value })));
  readers.forEach((_, from) => ask(from));
  return {
    async read() {
      while (pending.size > 0) {
        const { from, piece } = await Promise.race(pending.values());
        pending.delete(from);
        if (piece === undefined) continue;
        ask(from);
        return piece;
      }
      return undefined;
    },
    hasMore: () => false,
    async close() {
      await Promise.all(readers.map((reader) => reader.cancel()));
    },
  };
}
