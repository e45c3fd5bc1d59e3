const PROBE_MS = 3000;

/** Whether a connection to the URL's host can be made now; true where a proxy stands between, or when in doubt. */
export async function isReachable(url: string): Promise<boolean> {
  if (hasProxy()) return true;
  const { hostname, port, protocol } = new URL(url);
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), PROBE_MS);
    const end = (reachable: boolean) => {
      clearTimeout(timer);
      resolve(reachable);
    };
    Bun.connect({
      hostname: hostname.replace(/^\[|\]$/g, ""),
      port: Number(port) || (protocol === "https:" ? 443 : 80),
      socket: {
        open(socket) {
          end(true);
          socket.end();
        },
        data() {},
        connectError() {
          end(false);
        },
      },
    }).catch(() => end(false));
  });
}

function hasProxy(): boolean {
  return ["http_proxy", "https_proxy", "all_proxy"].some((name) => process.env[name] || process.env[name.toUpperCase()]);
}
