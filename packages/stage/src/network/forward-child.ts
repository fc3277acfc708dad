/** Listens where it was started and hands the sockets to its parent. */
import { once } from "node:events";
import { createServer } from "node:net";
import type { ForwardListener } from "./forward-listeners.ts";

const [wanted] = (await once(process, "message")) as [readonly ForwardListener[]];
try {
  for (const listener of wanted) {
    const server = createServer();
    server.listen(listener.port, listener.address);
    try {
      await once(server, "listening");
    } catch (error) {
      // localhost stands for both addresses, and a machine may know one of them only.
      if (listener.optional && isNoAddress(error)) continue;
      throw error;
    }
    await new Promise((resolve) => process.send!(listener, server, {}, resolve));
  }
} catch (error) {
  process.stderr.write((error as Error).message);
  process.exitCode = 1;
}
process.disconnect();
process.exit();

function isNoAddress(error: unknown): boolean {
  const { code = "" } = error as NodeJS.ErrnoException;
  return ["EADDRNOTAVAIL", "EAFNOSUPPORT"].includes(code);
}
