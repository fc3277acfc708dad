/**
 * A server that ends at once when told SIGTERM, as software without a graceful stop does, and says how it was and when it has served 20
 * requests: run as a process.
 *
 *     node server.ts PORT|PATH [ANSWER-AFTER-MS]
 */
import { createServer } from "node:http";

const [where = "0", delay = "0"] = process.argv.slice(2);
let served = 0;
const server = createServer((request, response) => {
  if (++served === 20) console.log("served");
  request.resume();
  if (request.headers["x-delay"] !== "0") console.log("working");
  setTimeout(() => response.end("ok"), Number(request.headers["x-delay"] ?? delay));
});
server.keepAliveTimeout = 60_000;
process.on("SIGTERM", () => process.exit(0));
process.on("SIGUSR1", () => process.exit(10));
server.listen(/^\d+$/.test(where) ? Number(where) : { path: where }, () => console.log("listening"));
