import * as fs from "node:fs";
import * as path from "node:path";

/** The session could not be written (a full disk, a folder that may not be written); the file is valid and later appends may work. */
export class SessionWriteError extends Error {
  override readonly name = "SessionWriteError";
  constructor(
    readonly file: string,
    /** The system's word: ENOSPC, EACCES, … */
    readonly code: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  static of(file: string, error: unknown): SessionWriteError {
    if (error instanceof SessionWriteError) return error;
    const { code = "EIO", message } = error as NodeJS.ErrnoException;
    return new SessionWriteError(file, code, `Cannot write the session file ${file}: ${message}`, { cause: error });
  }
}

/** The file of a session, opened for appending lines. Nothing before its end is ever changed. */
export class SessionFile {
  /** Set when what stands at the end is a line without its LF: the next line begins with one. */
  private isTorn = false;

  private constructor(
    readonly path: string,
    private readonly fd: number,
  ) {}

  /** Makes the file (0600) and, where it is missing, its folder (0700). Refuses a file that exists. */
  static create(file: string, text: string): SessionFile {
    let made: SessionFile | undefined;
    try {
      fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
      made = new SessionFile(file, fs.openSync(file, fs.constants.O_RDWR | fs.constants.O_APPEND | fs.constants.O_CREAT | fs.constants.O_EXCL, 0o600));
      made.append(text);
      return made;
    } catch (error) {
      if (made) {
        made.close();
        fs.rmSync(file, { force: true });
      }
      throw SessionWriteError.of(file, error);
    }
  }

  /** Opens a file that is there. `isTorn` tells that its last line has no LF. */
  static open(file: string, isTorn: boolean): SessionFile {
    const opened = new SessionFile(file, fs.openSync(file, fs.constants.O_RDWR | fs.constants.O_APPEND));
    opened.isTorn = isTorn;
    return opened;
  }

  /** Appends lines in one write; all of it is in the file when this returns, nothing of it when it throws. */
  append(text: string): void {
    const bytes = Buffer.from(this.isTorn ? `\n${text}` : text, "utf8");
    const { size, nlink } = fs.fstatSync(this.fd);
    if (nlink === 0) throw new SessionWriteError(this.path, "ENOENT", `The session file ${this.path} has been deleted; start a new session`);
    let written = 0;
    try {
      while (written < bytes.length) written += fs.writeSync(this.fd, bytes, written, bytes.length - written);
      this.isTorn = false;
    } catch (error) {
      if (written > 0) this.cutBack(size, written);
      throw SessionWriteError.of(this.path, error);
    }
  }

  /** Takes a half-written piece away, or leaves it as a broken line of its own that readers skip. */
  private cutBack(size: number, written: number): void {
    try {
      if (fs.fstatSync(this.fd).size !== size + written) throw new Error("another program has written since");
      fs.ftruncateSync(this.fd, size);
    } catch {
      this.isTorn = true;
    }
  }

  sync(): void {
    fs.fsyncSync(this.fd);
  }

  close(): void {
    fs.closeSync(this.fd);
  }
}
