import { expect, test } from "bun:test";
import { sleepUntilAborted } from "../../src/base/wait.ts";

test("a wait that no timer can hold is a long one, which an abort ends with its reason", async () => {
  const abort = new AbortController();
  const ended = sleepUntilAborted(1e12, abort.signal).then(() => "woke", (reason) => reason);
  // A timer that is too long for the system fires at once.
  await Bun.sleep(20);
  abort.abort("stopped");
  expect(await ended).toBe("stopped");
});
