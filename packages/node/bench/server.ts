/** The server under measurement: node:http with a trivial handler, and one library attached as its documentation says. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { attach } from "./libraries.ts";

const server = createServer((_request, response) => {
  response.setHeader("content-type", "text/plain");
  response.end("hello\n");
});
const before = performance.now();
await attach(process.argv[2] ?? "bare", server);
const attached = performance.now() - before;
server.listen(0, "127.0.0.1", () => {
  process.send?.({ port: (server.address() as AddressInfo).port, attached });
});
process.on("message", (what) => {
  if (what === "gc") globalThis.gc?.();
  process.send?.({ cpu: process.cpuUsage(), heap: process.memoryUsage().heapUsed });
});
