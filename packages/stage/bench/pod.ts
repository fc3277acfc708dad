import { createServer } from "node:http";

/** An ordinary small Node server, as a pod would run it. */
const server = createServer((_, response) => {
  response.writeHead(200, { "content-type": "text/plain", "content-length": 3 }).end("ok\n");
});
server.listen(0, "127.0.0.1", 4_096, () => {
  const address = server.address();
  process.send?.(typeof address === "object" && address ? address.port : 0);
});
process.on("disconnect", () => process.exit());
