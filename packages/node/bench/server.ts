/** The server under measurement: node:http with a trivial handler, and one library attached. `server.ts <library> [delay]` */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { libraries } from "./libraries.mjs";

const [name = "bare", delay] = process.argv.slice(2);
const server = createServer((request, response) => {
  const wait = Number(request.url?.split("wait=")[1] ?? 0);
  response.setHeader("content-type", "text/plain");
  if (wait > 0) setTimeout(() => response.end("hello\n"), wait);
  else response.end("hello\n");
});
const before = performance.now();
await libraries[name]?.(server, delay === undefined ? undefined : Number(delay));
const attached = performance.now() - before;
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  if (process.send) process.send({ port, attached });
  else process.stdout.write(`listening ${port}\n`);
});
// Without a parent that asks, the channel must not keep the process alive: its exit is what is measured.
if (process.send)
  process.on("message", () => {
    globalThis.gc?.();
    process.send?.({ cpu: process.cpuUsage(), heap: process.memoryUsage().heapUsed });
  });
