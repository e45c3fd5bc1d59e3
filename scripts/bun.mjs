// node scripts/bun.mjs <script> [arguments]: runs a script with the Bun of the lockfile, after installing what is missing.
import { become, main, prepare } from "./toolchain.mjs";

await main(async () => {
  const words = process.argv.slice(2);
  if (words.length === 0) throw new Error("usage: node scripts/bun.mjs <script> [arguments]");
  become(await prepare(), words);
});
