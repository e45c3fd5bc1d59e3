import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

interface Generated {
  /** From the root of the repository. */
  file: string;
  text: () => string | Promise<string>;
}

/** The files of the repository that are made from others. */
export const GENERATED: readonly Generated[] = [];

/** Which of them differ from what would be made now. */
export async function generatedFaults(root: string): Promise<string[]> {
  const faults: string[] = [];
  for (const { file, text } of GENERATED) {
    const place = path.join(root, file);
    if (!existsSync(place) || readFileSync(place, "utf8") !== (await text())) faults.push(`${file} is stale; \`node scripts/bun.mjs scripts/generated.ts\` writes it anew`);
  }
  return faults;
}

if (import.meta.main) {
  for (const { file, text } of GENERATED) await Bun.write(path.join(path.dirname(import.meta.dir), file), await text());
}
