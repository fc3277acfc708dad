import { createServer } from "node:net";
import { ClusterError } from "../errors.ts";

/** Below the kernel's usual range for outgoing connections (32768 on), so that the port is still free after a restart of who listens there. */
const first = 20_000;
const count = 10_000;

export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const port = first + Math.floor(Math.random() * count);
    if (await isFree(port)) return port;
  }
  throw new ClusterError("LAMEDUCK_CLUSTER_TIMEOUT", "127.0.0.1", `no free port found from ${first} on`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
