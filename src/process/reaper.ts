import { closeSync, writeSync } from "node:fs";
import { log } from "../base/log.ts";
import { system } from "./system.ts";

/**
 * The last will of rpi: a shell in a session of its own that is told which groups live, and that kills
 * them when its pipe closes, however rpi has died. On Linux it also kills what carries the mark in its
 * environment, looking for about a second: a child that was being started as rpi died has no mark yet. It
 * needs no other program (grep and sleep are only kinder) and leaves when all are gone.
 */
export const LAST_WILL = `
trap '' HUP INT TERM QUIT PIPE
mark=$1
groups=' '
while read -r line; do
  case $line in
    +*) groups="$groups\${line#+} " ;;
    -*) g=\${line#-}
      case $groups in *" $g "*) groups="\${groups%% $g *} \${groups#* $g }" ;; esac ;;
    q) exit 0 ;;
  esac
done
marked() {
  [ -r /proc/self/environ ] || return 0
  if command -v grep >/dev/null 2>&1; then
    grep -ls -e "$mark=" /proc/[0-9]*/environ
    return 0
  fi
  for file in /proc/[0-9]*/environ; do
    while read -r line || [ -n "$line" ]; do
      case $line in *"$mark="*) echo "$file"; break ;; esac
      line=
    done < "$file"
  done 2>/dev/null
}
round=0
quiet=0
enough=3
[ -r /proc/self/environ ] && enough=20
while [ $round -lt 200 ] && [ $quiet -lt $enough ]; do
  round=$((round + 1))
  quiet=$((quiet + 1))
  [ $round -gt 3 ] || for g in $groups; do kill -KILL -"$g"; done 2>/dev/null
  for file in $(marked); do
    quiet=0
    pid=\${file#/proc/}
    kill -KILL "\${pid%%/*}" 2>/dev/null
  done
  [ $quiet -eq 0 ] || sleep 0.05 2>/dev/null
done
exit 0
`;

/** Keeps the shell of the last will running, and told which groups live. */
export class Reaper {
  readonly #mark: string;
  readonly #groups = new Set<number>();
  #tell: ((line: string) => void) | undefined;
  #isGivenUp = !system.hasReaper;

  /** The name of the environment variable that marks all children. */
  constructor(mark: string) {
    this.#mark = mark;
  }

  /** Starts the shell unless it runs; before the first child, so that no child is ever without it. */
  start(): void {
    if (this.#tell || this.#isGivenUp) return;
    try {
      this.#tell = startShell(this.#mark, () => (this.#tell = undefined));
    } catch (error) {
      this.#isGivenUp = true;
      log(`children will not be ended when rpi is killed, since /bin/sh does not start: ${String(error)}`);
      return;
    }
    for (const group of this.#groups) this.#tell(`+${group}\n`);
  }

  add(group: number): void {
    this.#groups.add(group);
    this.#tell?.(`+${group}\n`);
  }

  /** An empty group must not be kept: its number may soon be somebody else's. */
  remove(group: number): void {
    if (this.#groups.delete(group)) this.#tell?.(`-${group}\n`);
  }

  /** All children are gone; the shell leaves without looking for any. */
  dismiss(): void {
    this.#tell?.("q\n");
  }
}

function startShell(mark: string, onGone: () => void): (line: string) => void {
  const options = {
    cwd: "/",
    // Without the mark, or it would kill itself.
    env: { PATH: [process.env["PATH"], "/usr/bin:/bin"].filter(Boolean).join(":") },
    stdout: "ignore",
    stderr: "ignore",
    detached: true,
  } as const;
  const argv = ["/bin/sh", "-c", LAST_WILL, "rpi-reaper", mark];
  const pipe = system.openPipe();
  if (!pipe) {
    const shell = Bun.spawn(argv, { ...options, stdin: "pipe", onExit: onGone });
    shell.unref();
    return (line) => {
      shell.stdin.write(line);
      void shell.stdin.flush();
    };
  }
  let isOpen = true;
  const close = () => {
    if (isOpen) closeSync(pipe.writeFd);
    isOpen = false;
    onGone();
  };
  try {
    Bun.spawn(argv, { ...options, stdin: pipe.readFd, onExit: close }).unref();
  } catch (error) {
    close();
    throw error;
  } finally {
    closeSync(pipe.readFd);
  }
  return (line) => {
    try {
      if (isOpen) writeSync(pipe.writeFd, line);
    } catch {
      // Somebody killed the shell; the next child starts another, which is told all groups.
      close();
    }
  };
}
