/** Waits for something that nobody tells us of (a file, a process of somebody else), and fails with words when it does not come. */
export async function until<T>(condition: () => T | Promise<T>, what: string | (() => string), ms = 10_000): Promise<NonNullable<T>> {
  const deadline = performance.now() + ms;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (performance.now() > deadline) throw new Error(`waited ${ms} ms for ${typeof what === "string" ? what : what()}`);
    await Bun.sleep(10);
  }
}
