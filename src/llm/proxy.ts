/** Whether requests may go through a proxy: Bun takes it from these variables, NO_PROXY aside. */
export function hasProxy(): boolean {
  return ["http_proxy", "https_proxy", "all_proxy"].some((name) => process.env[name] || process.env[name.toUpperCase()]);
}
