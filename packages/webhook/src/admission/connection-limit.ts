import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server } from "node:https";
import type { Socket } from "node:net";

/** An API server keeps some 25 idle connections to a webhook, and opens more when many pods come. */
const mostConnections = 500;

/**
 * Bounds the connections of a server that anybody in the cluster can reach. When there are too many, the one closes that has been of no use for longest.
 * Refusing new ones would shut the API server out.
 * @param onDrop called for each connection that is closed.
 */
export function limitConnections(server: Server, onDrop: () => void = () => undefined): void {
  /** In the order in which they were last of use. */
  const sockets = new Map<string, Socket>();
  /** Their request is being answered. That may take time, and they are not closed for it. */
  const answering = new Set<string>();

  server.on("connection", (socket: Socket) => {
    const key = keyOf(socket);
    sockets.set(key, socket);
    socket.once("close", () => {
      answering.delete(key);
      if (sockets.get(key) === socket) sockets.delete(key);
    });
    if (sockets.size > mostConnections) dropOne();
  });
  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const key = keyOf(socket);
    response.req.once("end", () => answering.add(key));
    response.once("prefinish", () => answered(key));
  });

  function answered(key: string): void {
    answering.delete(key);
    const socket = sockets.get(key);
    if (!socket) return;
    sockets.delete(key);
    sockets.set(key, socket);
  }

  function dropOne(): void {
    for (const [key, socket] of sockets)
      if (!answering.has(key)) {
        socket.destroy();
        sockets.delete(key);
        onDrop();
        return;
      }
  }
}

/** The same for the connection and for the TLS on it. */
function keyOf({ remoteAddress = "", remotePort = 0 }: Pick<Socket, "remoteAddress" | "remotePort">): string {
  return `${remoteAddress} ${remotePort}`;
}
