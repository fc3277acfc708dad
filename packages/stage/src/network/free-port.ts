import { createServer, type AddressInfo } from "node:net";

/** A port that was free a moment ago: for programs that cannot report the port that the kernel chose. */
export async function freePort(address: string): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, address, resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return port;
}
