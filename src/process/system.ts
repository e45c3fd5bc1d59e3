import { onLinux } from "./on-linux.ts";
import { onMacos } from "./on-macos.ts";
import { onWindows } from "./on-windows.ts";
import type { System } from "./platform.ts";

/** The one that rpi runs on. */
export const system: System = process.platform === "win32" ? onWindows : process.platform === "darwin" ? onMacos : onLinux;
