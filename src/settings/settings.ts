import { isObject } from "../base/json.ts";
import type { AgentSettings } from "../agent/agent.ts";
import { QUEUE_MODES } from "../agent/queue.ts";
import { THINKING_LEVELS, type ThinkingLevel, type Timeouts } from "../llm/model.ts";

/** What `settings.json` says, with defaults (protocol.md, section 14). */
export interface Settings extends AgentSettings {
  defaultProvider?: string;
  defaultModel?: string;
  defaultThinkingLevel: ThinkingLevel;
  timeouts: Timeouts;
  enabledModels?: string[];
  sessionDir?: string;
  childEnv: { allow: string[] };
}

/** A value of the file by its kind: its default, and what the file may say instead. */
type Kind =
  | { kind: "text"; or?: string }
  | { kind: "choice"; of: readonly string[]; or: string }
  | { kind: "switch"; or: boolean }
  | { kind: "count"; or: number }
  | { kind: "texts"; or?: string[] }
  | { kind: "group"; fields: Record<string, Kind> };

const count = (or: number): Kind => ({ kind: "count", or });
const group = (fields: Record<string, Kind>): Kind => ({ kind: "group", fields });

/** Every setting with its default (protocol.md, section 14). */
const shape: Record<string, Kind> = {
  defaultProvider: { kind: "text" },
  defaultModel: { kind: "text" },
  defaultThinkingLevel: { kind: "choice", of: THINKING_LEVELS, or: "medium" },
  steeringMode: { kind: "choice", of: QUEUE_MODES, or: "one-at-a-time" },
  followUpMode: { kind: "choice", of: QUEUE_MODES, or: "one-at-a-time" },
  compaction: group({ enabled: { kind: "switch", or: true }, reserveTokens: count(16384), keepRecentTokens: count(20000) }),
  retry: group({ enabled: { kind: "switch", or: true }, maxRetries: count(3), baseDelayMs: count(2000), maxDelayMs: count(60000) }),
  timeouts: group({ connectMs: count(30000), firstEventMs: count(300000), idleMs: count(120000) }),
  enabledModels: { kind: "texts" },
  sessionDir: { kind: "text" },
  shellPath: { kind: "text" },
  childEnv: group({ allow: { kind: "texts", or: [] } }),
};

/**
 * Settings from the parsed content of `settings.json`; what the file does not say, or says wrongly, has its
 * default. `fault` is called with a sentence for each value that was ignored. Unknown keys are others' business.
 */
export function readSettings(content: unknown, fault: (words: string) => void): Settings {
  return readGroup(shape, content, "", fault) as unknown as Settings;
}

function readGroup(fields: Record<string, Kind>, content: unknown, path: string, fault: (words: string) => void): Record<string, unknown> {
  if (content !== undefined && !isObject(content)) fault(`${path || "the file"} must be an object; ignored`);
  const given = isObject(content) ? content : {};
  const read: Record<string, unknown> = {};
  for (const [name, kind] of Object.entries(fields)) {
    const at = path ? `${path}.${name}` : name;
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (kind.kind === "group") {
      read[name] = readGroup(kind.fields, value, at, fault);
      continue;
    }
    const problem = value === undefined ? undefined : problemOf(kind, value);
    if (problem) fault(`${at} ${problem}; ignored`);
    const used = value === undefined || problem ? kind.or : value;
    if (used !== undefined) read[name] = used;
  }
  return read;
}

function problemOf(kind: Exclude<Kind, { kind: "group" }>, value: unknown): string | undefined {
  switch (kind.kind) {
    case "text": return typeof value === "string" && value !== "" ? undefined : "must be a text";
    case "choice": return kind.of.includes(value as string) ? undefined : `must be one of ${kind.of.join(", ")}`;
    case "switch": return typeof value === "boolean" ? undefined : "must be true or false";
    case "count": return typeof value === "number" && Number.isFinite(value) && value >= 0 ? undefined : "must be a number from 0";
    case "texts": return Array.isArray(value) && value.every((one) => typeof one === "string") ? undefined : "must be a list of texts";
  }
}
