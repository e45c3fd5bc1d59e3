import { createParser } from "eventsource-parser";
import { untilAborted } from "../base/wait.ts";
import type { Watch } from "./watch.ts";

/**
 * Takes one event's data and name. True when it was content: something the model said, not a sign of life;
 * "whole" when the model has said all and only counts may follow; "end" when nothing more will come. Either way the
 * server may leave the connection open.
 */
export type OnEvent = (data: string, event: string | undefined) => boolean | "whole" | "end";

/** A body of which only the end of the transfer is to come. */
export interface Rest {
  read(): Promise<{ done: boolean }>;
}

export interface Reading {
  watch: Watch;
  /** When it aborts, the body's read rejects. */
  signal: AbortSignal;
  ready: (() => Promise<void> | undefined) | undefined;
  onEvent: OnEvent;
  /** Takes the text of a body that is no event stream (JSON or a web page, by its first character). */
  onWhole(text: string): void;
}

/**
 * Reads a body to its end, or to the event that is the last. Nothing is read while `ready` waits, so that the server
 * has to wait too. Gives what is left to read, if anything may be.
 */
export async function readEvents(response: Response, { watch, signal, ready, onEvent, onWhole }: Reading): Promise<Rest | undefined> {
  if (!response.body) return undefined;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let hasContent = false;
  let hasEnded = false;
  let isWhole = false;
  const parser = createParser({
    onEvent: ({ data, event }) => {
      if (hasEnded) return;
      const told = onEvent(data, event);
      if (told === "end") hasEnded = true;
      else if (told) {
        hasContent = true;
        isWhole = told === "whole";
      }
    },
  });
  let isStream: boolean | undefined;
  const pieces: string[] = [];
  for (;;) {
    const wait = ready?.();
    if (wait) {
      watch.pause();
      await untilAborted(wait, signal);
      watch.resume();
    }
    const { value, done } = await reader.read();
    const text = done ? decoder.decode() : decoder.decode(value, { stream: true });
    isStream ??= text.trim() === "" ? undefined : !/^\s*[{[<]/.test(text);
    if (isStream) parser.feed(text);
    else pieces.push(text);
    if (hasContent) {
      watch.content(isWhole);
      hasContent = false;
    }
    if (hasEnded && !done) return reader;
    if (done) break;
  }
  // The last event may lack the blank line that ends it.
  if (isStream) parser.feed("\n\n");
  else if (isStream === false) onWhole(pieces.join("").trim());
  return undefined;
}
