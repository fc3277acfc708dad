import type { IncomingMessage, Server as HttpServer, ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";

/*
 * Strangers in the cluster can reach our servers. Node's maxConnections refuses the newest connection, so that one stranger with many idle ones would
 * shut everybody else out. packages/webhook/test/admission-connections.test.ts, packages/coordinator/test/access.test.ts and ../test/connections.test.ts
 * show that these bounds do not.
 */

/**
 * Bounds the connections of a server. When there are too many, the one closes that has been of no use for longest.
 * @param onDrop called for each connection that is closed.
 */
export function capTotal(server: HttpServer, most: number, onDrop: () => void = () => undefined): void {
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
    if (sockets.size > most) dropOne();
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

/** Loopback: the pod's own containers, and `kubectl port-forward`. */
export const isLoopback = (address: string): boolean => /^(?:::ffff:)?127\.0\.0\.1$|^::1$/.test(address);

/** Connections of one address. A pod needs two; all pods of a node may share the node's address. */
const mostPerAddress = 500;

/** Limits the connections of one address, so that others find room. */
export function capPerAddress(server: Server, most = mostPerAddress): void {
  const counts = new Map<string, number>();
  server.on("connection", (socket: Socket) => {
    const address = socket.remoteAddress ?? "";
    if (isLoopback(address)) return;
    const count = counts.get(address) ?? 0;
    if (count >= most) {
      socket.destroy();
      return;
    }
    counts.set(address, count + 1);
    socket.once("close", () => {
      const left = (counts.get(address) ?? 1) - 1;
      if (left > 0) counts.set(address, left);
      else counts.delete(address);
    });
  });
}

/** Connections whose first request has not arrived. It takes milliseconds, and half a head of it 25 kB. */
const mostSilent = 2_000;

/** Drops the oldest connections that have not asked anything, where there are many: there are more addresses than memory. */
export function capSilent(server: HttpServer, most = mostSilent): void {
  const silent = new Set<Socket>();
  server.on("connection", (socket) => {
    silent.add(socket);
    socket.once("close", () => silent.delete(socket));
    const [oldest] = silent;
    if (silent.size <= most || !oldest) return;
    silent.delete(oldest);
    oldest.destroy();
  });
  server.on("request", ({ socket }) => silent.delete(socket));
  if (server.listenerCount("upgrade") > 0)
    server.on("upgrade", (_request, socket: Socket) => silent.delete(socket));
}
