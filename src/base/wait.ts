/** What a timer can wait, in milliseconds (some 24 days); a longer wait would end at once. */
export const LONGEST_TIMER_MS = 0x7fff_ffff;

/** Resolves as the promise does, or rejects with the signal's reason as soon as it aborts. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    if (signal.aborted) abort();
  });
}

/** Resolves after `ms`, or rejects with the signal's reason as soon as it aborts. */
export function sleepUntilAborted(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", abort);
      resolve();
    }, Math.min(ms, LONGEST_TIMER_MS));
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
  });
}
