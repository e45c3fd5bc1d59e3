import fs from "../base/lazy-fs.ts";
import { log } from "../base/log.ts";

/**
 * Has the system put on the disk what a session has written, so that it survives a loss of power. Nothing waits for
 * it: the next prompt may come at once.
 */
export function syncSoon(file: string | undefined): void {
  if (file === undefined) return;
  fs.open(file, "r", (failure, fd) => {
    // A session of which nothing was worth a file yet.
    if (failure) return;
    fs.fsync(fd, (error) => {
      if (error) log(`rpi: ${file} could not be synced: ${error.message}`);
      fs.close(fd);
    });
  });
}
