import type fs from "node:fs";

/**
 * node:fs for what a start loads and does not need yet: the module itself, with what that loads, would cost a tenth
 * of the start. It comes with the first use; what is loaded later imports node:fs.
 */
const lazy: typeof fs = new Proxy({} as typeof fs, {
  get: (_, name) => Reflect.get((loaded ??= require("node:fs") as typeof fs), name),
});
let loaded: typeof fs | undefined;

export default lazy;
