import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { operatorNames } from "@lameduck/protocol";

/** The kubelet asks from the node itself, and a watcher shares its node's network: nobody else is to reach the port. */
const loopback = "127.0.0.1";

/** Answers the kubelet's liveness probe. A process that is stopped, or whose event loop hangs, does not answer and is replaced. */
export async function answerLiveness(port: number): Promise<Server> {
  const server = createServer((request, response) => {
    // Its body, should there be one, must not keep the connection open.
    request.resume();
    const isKnown = request.url === operatorNames.paths.live;
    response.writeHead(isKnown ? 200 : 404, { connection: "close" }).end(isKnown ? "ok\n" : "");
  });
  server.maxConnections = 10;
  server.listen(port, loopback);
  await once(server, "listening");
  return server;
}
