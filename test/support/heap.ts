import { heapStats } from "bun:jsc";

/** Bytes that are still reachable, buffers included: unlike the resident size it tells what is kept, not what was used. */
export function keptBytes(): number {
  Bun.gc(true);
  const { heapSize, extraMemorySize } = heapStats();
  return heapSize + extraMemorySize;
}
