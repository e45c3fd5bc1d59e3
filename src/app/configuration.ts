import path from "node:path";
import { isObject } from "../base/json.ts";
import type { Flags } from "../settings/flags.ts";
import type { Choice } from "../llm/pattern.ts";
import { providerKeyNames } from "../llm/provider.ts";
import type { ProviderConfig } from "../llm/provider-config.ts";
import { type FauxOptions, ModelRegistry } from "../llm/registry.ts";
import type { SessionPlaces } from "../session/list.ts";
import { sessionFolder } from "../session/place.ts";
import type { Notice } from "../session/open.ts";
import { agentFolder, expandHome, readJsonFile, type FileFault } from "../settings/files.ts";
import { readSettings, type Settings } from "../settings/settings.ts";
import { BUILT_IN } from "../tools/catalog.ts";
import { chooseTools } from "./tool-choice.ts";

/** What rpi is started with. */
export interface Launch {
  flags: Flags;
  env: Readonly<Record<string, string | undefined>>;
  /** Absolute and there. */
  cwd: string;
}

/** What flags, environment and files say together: flag > environment > setting > default. */
export interface Configuration {
  agentDir: string;
  settings: Settings;
  /** Of models.json, as they stand there. */
  providers: Record<string, ProviderConfig>;
  models: ModelRegistry;
  /** The models that cycle_model goes through; none: all. */
  scope: readonly Choice[];
  /** Names of the tools that the model has. */
  tools: readonly string[];
  /** What was skipped or ignored while reading, to be told once. */
  notices: Notice[];
  /** False with --no-session. */
  keepsFiles: boolean;
  /** Where sessions are looked for. */
  places: SessionPlaces;
  /** Where session files of a folder stand. */
  sessionFolder(cwd: string): string;
}

/** Reads what there is; what cannot be used is left out and told in `notices`. Throws Refusal for flags that contradict each other and a faux script that cannot be played. */
export async function readConfiguration({ flags, env, cwd }: Launch): Promise<Configuration> {
  const notices: Notice[] = [];
  const fault = faultTo(notices);
  const agentDir = await agentFolder(env);
  const { settings = readSettings(undefined, () => {}), providers = {} } = await readFiles(agentDir, fault);
  const sessionDir = flags["session-dir"] ?? env.PI_CODING_AGENT_SESSION_DIR ?? settings.sessionDir;
  const fixed = sessionDir ? path.resolve(cwd, await expandHome(sessionDir, env)) : undefined;
  const models = new ModelRegistry({ providers, env, timeouts: settings.timeouts, faux: await readFaux(flags, env, cwd), apiKey: keyFlag(flags) });
  const patterns = scopePatterns(flags, settings);
  const scope = models.match(patterns);
  const vain = patterns.filter((pattern) => models.match([pattern]).length === 0);
  if (vain.length > 0) notices.push({ level: "warning", code: "unknown_model", message: `No usable model matches ${vain.join(", ")} of ${flags.models === undefined ? "enabledModels" : "--models"}` });
  for (const words of models.notices) fault({ file: "models.json", message: words });
  const tools = chooseTools(flags);
  const unknown = tools.filter((name) => !BUILT_IN.includes(name));
  if (unknown.length > 0) notices.push({ level: "warning", code: "unknown_tool", message: `There is no tool ${unknown.join(", ")}; there are ${BUILT_IN.join(", ")}` });
  return {
    agentDir, settings, providers, models, scope, notices,
    tools,
    keepsFiles: !flags["no-session"],
    places: { root: path.join(agentDir, "sessions"), ...(fixed === undefined ? {} : { dir: fixed }) },
    sessionFolder: (folder) => fixed ?? sessionFolder(agentDir, folder),
  };
}

/**
 * Takes what has changed in the files since; a file that cannot be used leaves what was read before. Gives the names
 * of what is another now. What the session was given by commands stays.
 */
export async function readAgain(configuration: Configuration, flags: Flags): Promise<string[]> {
  const fault = faultTo(configuration.notices);
  const { settings, providers } = await readFiles(configuration.agentDir, fault);
  const changed: string[] = [];
  if (settings && JSON.stringify(settings) !== JSON.stringify(configuration.settings)) {
    changed.push("settings");
    configuration.settings = settings;
  }
  if (providers && JSON.stringify(providers) !== JSON.stringify(configuration.providers)) {
    changed.push("models");
    configuration.providers = providers;
  }
  if (changed.length === 0) return changed;
  configuration.models.reload({ providers: configuration.providers, timeouts: configuration.settings.timeouts });
  for (const message of configuration.models.notices) fault({ file: "models.json", message });
  configuration.scope = configuration.models.match(scopePatterns(flags, configuration.settings));
  return changed;
}

function faultTo(notices: Notice[]): (fault: FileFault) => void {
  return ({ message }) => void notices.push({ level: "warning", code: "bad_file", message });
}

/** What the files of the agent folder say; undefined for one that cannot be used. Faults come in the order of the files. */
async function readFiles(agentDir: string, fault: (fault: FileFault) => void): Promise<{ settings: Settings | undefined; providers: Record<string, ProviderConfig> | undefined }> {
  const ofModels: FileFault[] = [];
  const [settings, providers] = await Promise.all([
    readSettingsFile(path.join(agentDir, "settings.json"), fault),
    readProviders(path.join(agentDir, "models.json"), (one) => void ofModels.push(one)),
  ]);
  for (const one of ofModels) fault(one);
  return { settings, providers };
}

async function readSettingsFile(file: string, fault: (fault: FileFault) => void): Promise<Settings | undefined> {
  const read = await readJsonFile(file, fault);
  return read && readSettings(read.content, (words) => fault({ file, message: `${file}: ${words}` }));
}

async function readProviders(file: string, fault: (fault: FileFault) => void): Promise<Record<string, ProviderConfig> | undefined> {
  const read = await readJsonFile(file, fault);
  if (read?.content === undefined) return read && {};
  const providers = (read.content as { providers?: unknown } | null)?.providers;
  if (isObject(providers)) return providers as Record<string, ProviderConfig>;
  fault({ file, message: `${file}: "providers" must be an object; going on without it` });
  return undefined;
}

function scopePatterns(flags: Flags, settings: Settings): readonly string[] {
  return flags.models?.split(",").map((one) => one.trim()).filter(Boolean) ?? settings.enabledModels ?? [];
}

async function readFaux(flags: Flags, env: Launch["env"], cwd: string): Promise<FauxOptions> {
  const response = env.PI_FAUX_RESPONSE;
  const file = flags["faux-script"] ?? env.RPI_FAUX_SCRIPT;
  if (!file) return response === undefined ? {} : { response };
  const { readFauxScript } = await import("./faux-file.ts");
  return { script: readFauxScript(path.resolve(cwd, file)), ...(response === undefined ? {} : { response }) };
}

function keyFlag(flags: Flags): { provider: string; key: string } | undefined {
  const key = flags["api-key"];
  if (!key) return undefined;
  const provider = flags.provider ?? flags.model?.split("/")[0];
  // Without a model the key has no provider to belong to; pi ignores it then, too.
  return provider ? { provider, key } : undefined;
}

/** Environment variables that children do not get. */
export function hiddenNames({ childEnv }: Settings): ReadonlySet<string> {
  return new Set(providerKeyNames().filter((name) => !childEnv.allow.includes(name)));
}
