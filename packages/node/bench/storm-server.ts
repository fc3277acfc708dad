/** A pod of storm.ts: an echo of WebSockets by `ws`, and one library attached. `storm-server.ts <library> <delay>` */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";
import { libraries } from "./libraries.mjs";

const [name = "bare", delay] = process.argv.slice(2);
const server = createServer((_request, response) => response.end("ok\n"));
const sockets = new WebSocketServer({ server, perMessageDeflate: false });
sockets.on("connection", (socket) => socket.on("message", (data) => socket.send(data)));

/** What programs with WebSockets do at their end. */
const close = async (): Promise<void> => {
  for (const socket of sockets.clients) socket.close(1001);
  await new Promise((resolve) => server.close(resolve));
};
await libraries[name]?.(server, delay === undefined ? undefined : Number(delay), { close, plenty: 10_000 });
server.listen(0, "127.0.0.1", 4096, () =>
  process.stdout.write(`listening ${(server.address() as AddressInfo).port}\n`),
);
