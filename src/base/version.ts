/** Printed by `--version` and told in `session_started`; a test holds it to package.json. */
export const VERSION = "1.0.0";
