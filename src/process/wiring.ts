import { closeSync } from "node:fs";
import { readPipe, readStreams, type ByteSource } from "./byte-source.ts";
import { Input } from "./input.ts";
import type { Pipe } from "./platform.ts";
import { system } from "./system.ts";

export interface WiringOptions {
  argv: readonly string[];
  cwd: string;
  env: Record<string, string>;
  hasStdin: boolean;
}

export interface Wired {
  process: Bun.Subprocess;
  output: ByteSource;
  input: Input | undefined;
}

/**
 * Starts a program in a session of its own, stdout and stderr as one stream, stdin closed or a pipe.
 * Throws what the system says when it does not start.
 */
export function startPiped(options: WiringOptions): Wired {
  const output = system.openPipe();
  const input = output && options.hasStdin ? system.openPipe() : undefined;
  if (!output || (options.hasStdin && !input)) {
    if (output) closeBoth(output);
    return startWithoutPipes(options);
  }
  const { argv, cwd, env } = options;
  try {
    const process = Bun.spawn([...argv], {
      cwd,
      env,
      stdin: input ? input.readFd : "ignore",
      stdout: output.writeFd,
      stderr: output.writeFd,
      detached: true,
      windowsHide: true,
    });
    closeSync(output.writeFd);
    if (input) closeSync(input.readFd);
    return { process, output: readPipe(output.readFd), input: input ? new Input(input.writeFd) : undefined };
  } catch (error) {
    closeBoth(output);
    if (input) closeBoth(input);
    throw error;
  }
}

/** Where no pipe can be made here: a shell joins the streams, or (Windows) two are read beside each other. */
function startWithoutPipes({ argv, cwd, env, hasStdin }: WiringOptions): Wired {
  const isWindows = globalThis.process.platform === "win32";
  const options = { cwd, env, stdin: hasStdin ? "pipe" : "ignore", stdout: "pipe", lazy: true, detached: true, windowsHide: true } as const;
  // With a shell between, a missing program would be its exit code 127 instead of a failure to start.
  if (!isWindows && !Bun.which(argv[0] ?? "", { PATH: env["PATH"] ?? "", cwd })) {
    throw new Error(`Executable not found in $PATH: "${argv[0]}"`);
  }
  const process = isWindows
    ? Bun.spawn([...argv], { ...options, stderr: "pipe" })
    : Bun.spawn(["/bin/sh", "-c", 'exec "$@" 2>&1', "sh", ...argv], { ...options, stderr: "ignore" });
  const streams = [process.stdout, process.stderr].filter((stream) => stream instanceof ReadableStream);
  return { process, output: readStreams(streams), input: process.stdin ? new Input(process.stdin) : undefined };
}

function closeBoth(pipe: Pipe): void {
  closeSync(pipe.readFd);
  closeSync(pipe.writeFd);
}
