const NAMES: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  linux: ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`],
  darwin: ["libSystem.B.dylib", "/usr/lib/libSystem.B.dylib"],
};

/**
 * What `open` makes of the system's C library, which is called by another name here and there; undefined where it
 * cannot be opened. Loading bun:ffi costs a millisecond, so `open` loads it, and is not called before it is needed.
 */
export function openLibc<T>(open: (name: string) => T): T | undefined {
  for (const name of NAMES[process.platform] ?? []) {
    try {
      return open(name);
    } catch {
      // Not under this name, or there is no bun:ffi: what needs it has another way.
    }
  }
  return undefined;
}
