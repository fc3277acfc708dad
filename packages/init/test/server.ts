/**
 * A server that ends at once when told SIGTERM, as software without a graceful stop does, and says how it was and when it has served 20
 * requests: run as a process.
 *
 *     node server.ts PORT|PATH [ANSWER-AFTER-MS [BACKLOG]]
 */

/** An import of node:http would load `fetch`, too. */
const { createServer } = process.getBuiltinModule("node:http");

const [where = "0", delay = "0", backlog = "511"] = process.argv.slice(2);
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
const place = /^\d+$/.test(where) ? { port: Number(where) } : { path: where };
server.listen({ ...place, backlog: Number(backlog) }, () => console.log("listening"));
