/** Listens where it was started and hands the sockets to its parent, in the order asked for. */
import { once } from "node:events";
import { createServer } from "node:net";
import type { ForwardListener } from "./forward-listeners.ts";

const [wanted] = (await once(process, "message")) as [readonly ForwardListener[]];
for (const { address, port } of wanted) {
  const server = createServer();
  server.listen(port, address);
  await once(server, "listening");
  await new Promise((resolve) => process.send!({ address, port }, server, {}, resolve));
}
process.disconnect();
process.exit();
