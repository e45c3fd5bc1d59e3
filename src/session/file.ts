import fs from "../base/lazy-fs.ts";
import path from "node:path";
import { Refusal } from "../base/refusal.ts";
import { lockFile, type Lock } from "./lock.ts";

/** The session could not be written (a full disk, a folder that may not be written); the file is valid and later appends may work. */
export class SessionWriteError extends Error {
  override readonly name = "SessionWriteError";
  constructor(
    readonly file: string,
    /** The system's word: ENOSPC, EACCES, … */
    readonly code: string,
    why: string,
    options?: ErrorOptions,
  ) {
    super(`Cannot write the session file ${file}: ${why}`, options);
  }

  static of(file: string, error: unknown): SessionWriteError {
    if (error instanceof SessionWriteError) return error;
    const { code = "EIO", message } = error as NodeJS.ErrnoException;
    return new SessionWriteError(file, code, message, { cause: error });
  }
}

const LF = 10;

/** The file of a session, locked, read at any place and written at its end only. */
export class SessionFile {
  /** Where the file ended when it was written last; -1 before that. */
  #end = -1;
  /** Its folder may not know of it yet when the power goes. */
  #isNew = false;

  private constructor(
    readonly path: string,
    /** For reading. */
    readonly fd: number,
    private readonly lock: Lock,
    readonly isWritable: boolean,
  ) {}

  /** Makes the file (0600) and, where they are missing, its folders (0700). A file that exists is an error. */
  static create(file: string): SessionFile {
    const { O_APPEND, O_CREAT, O_EXCL, O_RDWR } = fs.constants;
    let fd: number | undefined;
    try {
      fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
      fd = fs.openSync(file, O_RDWR | O_APPEND | O_CREAT | O_EXCL, 0o600);
      // Whoever opens it from now on finds it empty or locked.
      const made = new SessionFile(file, fd, lockFile(file), true);
      made.#isNew = true;
      return made;
    } catch (error) {
      if (fd !== undefined) discard(fd, file);
      throw SessionWriteError.of(file, error);
    }
  }

  /** Opens a file that is there, for reading only where it may not be written. Throws Refusal. */
  static open(file: string): SessionFile {
    return opened(file, () => {
      const { fd, isWritable } = openToWrite(file);
      try {
        return new SessionFile(file, fd, lockFile(file), isWritable);
      } catch (error) {
        fs.closeSync(fd);
        throw error;
      }
    });
  }

  /** Opens a file that another process may be writing, to read it. Throws Refusal. */
  static peek(file: string): SessionFile {
    return opened(file, () => new SessionFile(file, fs.openSync(file, fs.constants.O_RDONLY), { isHeld: false, release() {} }, false));
  }

  get isLocked(): boolean {
    return this.lock.isHeld;
  }

  /** Fills the buffer and gives the part that is filled: less than all of it at the end of the file. */
  read(at: number, buffer: Buffer): Buffer {
    let filled = 0;
    while (filled < buffer.length) {
      const read = fs.readSync(this.fd, buffer, filled, buffer.length - filled, at + filled);
      if (read === 0) break;
      filled += read;
    }
    return buffer.subarray(0, filled);
  }

  /**
   * Appends lines in one write and tells the offset of the first. All of it is in the file when this returns and
   * nothing of it when it throws SessionWriteError.
   */
  append(text: string): number {
    if (!this.isWritable) throw new SessionWriteError(this.path, "EACCES", "it may only be read");
    const { size, nlink } = fs.fstatSync(this.fd);
    if (nlink === 0) throw new SessionWriteError(this.path, "ENOENT", "it has been deleted; start a new session");
    const start = size + (this.#isTorn(size) ? 1 : 0);
    const bytes = Buffer.from(start > size ? `\n${text}` : text, "utf8");
    let written = 0;
    try {
      while (written < bytes.length) written += fs.writeSync(this.fd, bytes, written, bytes.length - written);
    } catch (error) {
      if (written > 0) this.#cutBack(size, written);
      throw SessionWriteError.of(this.path, error);
    }
    this.#end = size + bytes.length;
    return start;
  }

  /** What was appended survives a loss of power when this returns. Throws SessionWriteError. */
  sync(): void {
    if (!this.isWritable) return;
    try {
      fs.fsyncSync(this.fd);
      if (this.#isNew && process.platform !== "win32") syncFolder(path.dirname(this.path));
      this.#isNew = false;
    } catch (error) {
      throw SessionWriteError.of(this.path, error);
    }
  }

  close(): void {
    fs.closeSync(this.fd);
    this.lock.release();
  }

  /** For a file that could not be made whole. */
  discard(): void {
    this.lock.release();
    discard(this.fd, this.path);
  }

  /** Whether the file ends with a line without its LF, which a kill, a full disk or another program may have left. */
  #isTorn(size: number): boolean {
    return size !== this.#end && size > 0 && this.read(size - 1, Buffer.allocUnsafe(1))[0] !== LF;
  }

  /** Takes a half-written piece away; where that fails it stays, as a broken line of its own that readers skip. */
  #cutBack(size: number, written: number): void {
    try {
      if (fs.fstatSync(this.fd).size !== size + written) throw new Error("another program has written since");
      fs.ftruncateSync(this.fd, size);
    } catch {
      // The next line begins on a fresh one.
    }
  }
}

function opened(file: string, open: () => SessionFile): SessionFile {
  try {
    const stat = fs.statSync(file);
    if (!stat.isFile()) throw new Refusal("invalid", `${file} is not a session file`);
    if (stat.size === 0) throw new Refusal("invalid", `${file} is not a session file: it is empty`);
    return open();
  } catch (error) {
    throw asRefusal(file, error);
  }
}

function openToWrite(file: string): { fd: number; isWritable: boolean } {
  const { O_APPEND, O_RDONLY, O_RDWR } = fs.constants;
  try {
    return { fd: fs.openSync(file, O_RDWR | O_APPEND), isWritable: true };
  } catch (error) {
    if (!["EACCES", "EPERM", "EROFS"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    return { fd: fs.openSync(file, O_RDONLY), isWritable: false };
  }
}

function asRefusal(file: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof Refusal || code === undefined) return error;
  if (code === "ENOENT" || code === "ENOTDIR") return new Refusal("not_found", `Session file not found: ${file}`);
  return new Refusal("unavailable", `Cannot read the session file ${file}: ${message}`);
}

function syncFolder(folder: string): void {
  const fd = fs.openSync(folder, fs.constants.O_RDONLY);
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

function discard(fd: number, file: string): void {
  fs.closeSync(fd);
  fs.rmSync(file, { force: true });
}
