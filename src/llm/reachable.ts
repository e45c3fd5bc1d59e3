import { hasProxy } from "./proxy.ts";

/** Whether a connection to the URL's host can be made now, within `ms`; true where a proxy stands between. */
export async function isReachable(url: string, ms: number): Promise<boolean> {
  if (hasProxy()) return true;
  const { hostname, port, protocol } = new URL(url);
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
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
