import path from "node:path";

/** Something in a file that could not be used; told on stderr and as a `notice`. */
export interface FileFault {
  file: string;
  message: string;
}

/** The user's folder: `PI_CODING_AGENT_DIR`, else `~/.pi/agent` (protocol.md, section 1). Absolute. */
export async function agentFolder(env: Record<string, string | undefined>): Promise<string> {
  const named = env.PI_CODING_AGENT_DIR;
  if (!named) return path.join(await homeFolder(env), ".pi", "agent");
  return path.resolve(await expandHome(named, env));
}

/** `~` and `~/…` at the start of a path become the home folder. */
export async function expandHome(file: string, env: Record<string, string | undefined>): Promise<string> {
  return file === "~" || file.startsWith("~/") ? path.join(await homeFolder(env), file.slice(1)) : file;
}

async function homeFolder(env: Record<string, string | undefined>): Promise<string> {
  if (env.HOME) return env.HOME;
  // An empty environment: the password file knows.
  const { homedir } = await import("node:os");
  return homedir();
}

/**
 * A JSON file: its content, which is undefined when there is none; nothing at all when it cannot be used, which
 * `fault` is told.
 */
export async function readJsonFile(file: string, fault: (fault: FileFault) => void): Promise<{ content: unknown } | undefined> {
  let text: string;
  try {
    const source = Bun.file(file);
    // A pipe or a device would be read for ever.
    if (!(await source.stat()).isFile()) throw Object.assign(new Error(), { code: "not a file" });
    text = await source.text();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return { content: undefined };
    fault({ file, message: `${file} cannot be read (${code}); going on without it` });
    return undefined;
  }
  try {
    return { content: JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text) };
  } catch (error) {
    fault({ file, message: `${file} is not valid JSON (${(error as Error).message}); going on without it` });
    return undefined;
  }
}
