import { logAndBlock } from "./base/log.ts";
import { Refusal } from "./base/refusal.ts";
import { VERSION } from "./base/version.ts";
import { helpText } from "./cli/help.ts";
import { parseCommandLine, UsageError, type CommandLine } from "./settings/flags.ts";

/** Exit codes of a death by signal (protocol.md, section 11). */
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

async function main(argv: string[]): Promise<number> {
  try {
    return await start(parseCommandLine(argv));
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof Refusal)) throw error;
    const isUsage = error instanceof UsageError;
    logAndBlock(`rpi: ${error.message}${isUsage ? "\nSee rpi --help." : ""}`);
    return isUsage ? 2 : 1;
  }
}

async function start(line: CommandLine): Promise<number> {
  const { flags } = line;
  if (flags.version) return print(`${VERSION}\n`);
  if (flags.help) return print(helpText());
  const [word, ...words] = line.words;
  const subcommand = word !== undefined && Object.hasOwn(subcommands, word) ? subcommands[word as keyof typeof subcommands] : undefined;
  if (subcommand && flags.mode === undefined) return subcommand({ ...line, words });
  if (word === "rpc" || flags.mode === "rpc") return rpc({ ...line, words: word === "rpc" ? words : line.words });
  if (word !== undefined && flags.mode === undefined && !flags.print) throw new UsageError(`unknown command "${word}": there are rpc, schema and sessions. A prompt goes to \`rpi rpc\` as a line of JSON`);
  if (line.unknown.length > 0) throw new UsageError(unknownFlag(line));
  if (Object.keys(flags).length > 0) throw new UsageError("only RPC mode is here: start it with `rpi rpc`");
  logAndBlock(helpText());
  return 2;
}

const unknownFlag = ({ unknown }: CommandLine) => `unknown flag ${unknown.join(", ")}`;

const subcommands = {
  schema: async ({ words, unknown }: CommandLine) => {
    if (words.length + unknown.length > 0) throw new UsageError(`\`rpi schema\` takes no argument, not ${[...words, ...unknown].join(" ")}`);
    const { schemaText } = await import("./rpc/schema.ts");
    return print(schemaText());
  },
  sessions: async ({ flags, words, unknown }: CommandLine) => {
    const others = [...words, ...unknown.filter((flag) => flag !== "--all" && flag !== "--json")];
    if (others.length > 0) throw new UsageError(`\`rpi sessions\` takes --all and --json, not ${others.join(" ")}`);
    const [{ readConfiguration }, { workingFolder }, { sessionsText }] = await Promise.all([import("./app/configuration.ts"), import("./app/working-folder.ts"), import("./cli/sessions.ts")]);
    const cwd = workingFolder(flags.cwd);
    const { places } = await readConfiguration({ flags, env: process.env, cwd });
    return print(await sessionsText(places, cwd, { all: unknown.includes("--all"), json: unknown.includes("--json") }));
  },
};

async function rpc(line: CommandLine): Promise<number> {
  const { flags, words, unknown } = line;
  if (flags.mode !== undefined && flags.mode !== "rpc") throw new UsageError(`rpc and --mode ${flags.mode} contradict each other`);
  if (unknown.length > 0) throw new UsageError(unknownFlag(line));
  const [word] = words;
  if (word?.startsWith("@")) throw new UsageError(`file arguments such as ${word} are not for RPC mode: send the file with the prompt command`);
  if (word !== undefined) throw new UsageError(`a prompt as an argument ("${word}") is not for RPC mode: send it with the prompt command`);
  const { Server } = await import("./rpc/serve.ts");
  const server = new Server({ flags, env: process.env, stdin: Bun.stdin.stream(), stdout: Bun.stdout.writer({ highWaterMark: 1 << 20 }) });
  for (const [signal, code] of Object.entries(SIGNALS)) process.on(signal, () => server.signal(code));
  return server.run();
}

/** Writes text for a person to stdout, all of it. */
async function print(text: string): Promise<number> {
  try {
    await Bun.write(Bun.stdout, text);
    return 0;
  } catch {
    // The reader has seen enough (`| head`).
    return 1;
  }
}

process.exit(await main(process.argv.slice(2)));
