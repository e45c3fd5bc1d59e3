/** Both ends of a pipe that no child inherits unless it is handed over. */
export interface Pipe {
  readFd: number;
  writeFd: number;
}

/** How the names of the environment variables begin that mark the children of an rpi. */
export const MARK = "RPI_CHILD_";

export interface Mark {
  /** Begins with MARK. */
  name: string;
  /** Its whole value or, with `isPrefix`, the beginning of it. */
  value: string;
  isPrefix?: boolean;
  /** A process group to leave out. */
  outside?: number;
}

/** What children need of the operating system and gets done differently on each. */
export interface System {
  /** Undefined where there is none to be had; both ends are the caller's to close. */
  openPipe(): Pipe | undefined;
  /** Whether bytes wait in the pipe right now. False also where that cannot be told. */
  hasBytes(fd: number): boolean;
  /** Nothing happens when nobody is left in the group. */
  signalGroup(leader: number, signal: NodeJS.Signals): void;
  /** Whether anybody is in the group, a zombie included. */
  isGroupAlive(leader: number): boolean;
  /** Whether all that is left of a group are zombies, as of some milliseconds ago; false where that cannot be told. */
  isGroupOfZombies(leader: number): boolean;
  /**
   * Processes whose environment holds the mark, zombies left out; none where environments cannot be read. What is
   * told may be some milliseconds old, but a mark that nobody had then has nobody now either.
   */
  findMarked(mark: Mark): number[];
  /** The shell for commands when the settings name none. Undefined: there is none. */
  findShell(): string | undefined;
  /** /bin/sh and process groups are there, so that a reaper can end what rpi leaves behind. */
  hasReaper: boolean;
}
