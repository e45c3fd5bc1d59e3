import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** From left to right: a room may import only itself and what stands to its left. */
export const ROOMS = ["base", "llm", "process", "session", "tools", "agent", "extension", "settings", "app", "rpc", "cli", "main"];

/** Each of these costs milliseconds at start, so they are imported where they are used: `await import("node:http")`. */
const HEAVY = ["http", "https", "http2", "stream", "stream/promises", "tls", "net", "child_process", "readline", "zlib", "worker_threads"].map((name) => `node:${name}`);

interface Import {
  target: string;
  kind: "static" | "type" | "lazy";
}

/** What is wrong with the imports under `src`, one sentence each. */
export function importFaults(src: string): string[] {
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts")).sort();
  const graph = new Map(files.map((name) => [name, importsOf(readFileSync(path.join(src, name), "utf8"))]));
  return [...files.flatMap((name) => faultsOf(src, name, graph.get(name) ?? [])), ...cycles(graph)];
}

function faultsOf(src: string, name: string, imports: Import[]): string[] {
  const faults: string[] = [];
  const room = ROOMS.indexOf(roomOf(name));
  if (room < 0) faults.push(`${name}: ${roomOf(name)} is none of the rooms`);
  for (const { target, kind } of imports) {
    if (kind === "static" && HEAVY.includes(target)) faults.push(`${name}: ${target} is heavy at start, import it where it is used`);
    if (!target.startsWith(".")) continue;
    const other = path.join(path.dirname(name), target);
    if (!existsSync(path.join(src, other))) faults.push(`${name}: ${target} does not exist (the ending belongs to the name)`);
    else if (room >= 0 && ROOMS.indexOf(roomOf(other)) > room) faults.push(`${name}: imports ${other}, which stands to its right`);
  }
  return faults;
}

const roomOf = (name: string) => (name.split(path.sep)[0] ?? name).replace(/\.ts$/, "");

/** The imports of a module as it is written; strings that look like imports would count too, and none do. */
export function importsOf(source: string): Import[] {
  const found: Import[] = [];
  for (const [, type, names, target] of source.matchAll(/^\s*(?:import|export)\s+(type\s)?([^'";]*?\sfrom\s+)?["']([^"']+)["']/gm)) {
    if (!target) continue;
    const isOnlyTypes = type !== undefined || /^\{(\s*type\s[^,}]+,?)+\s*\}\s*from\s+$/.test(names ?? "");
    found.push({ target, kind: isOnlyTypes ? "type" : "static" });
  }
  for (const [, target] of source.matchAll(/\bimport\(\s*["']([^"']+)["']/g)) if (target) found.push({ target, kind: "lazy" });
  return found;
}

/** Cycles of modules that know each other, be it by a type; lazy imports may lead back. */
function cycles(graph: Map<string, Import[]>): string[] {
  const faults: string[] = [];
  const done = new Set<string>();
  const visit = (name: string, trail: string[]) => {
    const seenAt = trail.indexOf(name);
    if (seenAt >= 0) return void faults.push(`${name}: imports itself by way of ${[...trail.slice(seenAt + 1), name].join(" → ")}`);
    if (done.has(name)) return;
    for (const { target, kind } of graph.get(name) ?? []) {
      if (kind !== "lazy" && target.startsWith(".")) visit(path.join(path.dirname(name), target), [...trail, name]);
    }
    done.add(name);
  };
  for (const name of graph.keys()) visit(name, []);
  return faults;
}
