/** What `orAbandon` gives when work went on too long after an abort. */
export const ABANDONED = Symbol("abandoned");

/**
 * The result of work, or `ABANDONED` when it has not ended `graceMs()` after the signal aborted: nothing that
 * ignores an abort may hold a run. A late result or failure of abandoned work is dropped.
 */
export function orAbandon<T>(work: Promise<T>, signal: AbortSignal, graceMs: () => number): Promise<T | typeof ABANDONED> {
  return new Promise((resolve, reject) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onAbort = () => {
      timer = setTimeout(() => resolve(ABANDONED), graceMs());
    };
    const done = () => {
      signal.removeEventListener("abort", onAbort);
      clearTimeout(timer);
    };
    work.then(
      (value) => { done(); resolve(value); },
      (error) => { done(); reject(error); },
    );
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}
