import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";

/** A port that was free a moment ago: for programs that cannot report the port that the kernel chose. */
export async function freePort(address: string): Promise<number> {
  const server = createServer().listen(0, address);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await once(server.close(), "close");
  return port;
}
