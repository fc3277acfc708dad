/** The server under measurement: a trivial handler, and one library attached. `server.ts <library> http1|http2` */
import { createServer, type RequestListener } from "node:http";
import { createServer as createHttp2 } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { libraries } from "../libraries.mjs";

const [name = "bare", protocol] = process.argv.slice(2);
const answer: RequestListener = (_request, response) => {
  response.setHeader("content-type", "text/plain");
  response.end("hello\n");
};
const server: Server = protocol === "http2" ? createHttp2(answer as never) : createServer(answer);
// Connections wait for their turn for longer than Node's five seconds.
if ("keepAliveTimeout" in server) server.keepAliveTimeout = 600_000;
const before = performance.now();
await libraries[name]?.(server);
const attached = performance.now() - before;
server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () => {
  process.send?.({ port: (server.address() as AddressInfo).port, attached });
});
process.on("message", (what) => {
  if (what === "memory") for (let pass = 0; pass < 3; pass++) globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  process.send?.({ cpu: user + system, heap: process.memoryUsage().heapUsed });
});
