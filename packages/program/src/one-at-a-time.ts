import type { IncomingMessage, RequestListener, Server } from "node:http";
import { Server as SecureServer } from "node:https";
import type { Socket } from "node:net";

/** Bytes that are parsed before it is looked whether the connection has ended by that. A usual request has fewer. */
const piece = 4_096;

/**
 * Answers the requests of each connection one at a time, and ends one that sends the next too early. No client of ours does. Node would keep any
 * number of such requests, so that a single stranger could fill the memory.
 */
export function answerOneAtATime(
  server: Server | SecureServer,
  listener: RequestListener,
  onUpgrade?: (request: IncomingMessage, socket: Socket, head: Buffer) => void,
): void {
  const busy = new WeakSet<Socket>();
  const upgraded = new WeakSet<Socket>();
  server.on("request", (request, response) => {
    const { socket } = request;
    if (busy.has(socket)) {
      socket.destroy();
      return;
    }
    busy.add(socket);
    response.once("finish", () => busy.delete(socket));
    listener(request, response);
  });
  if (onUpgrade)
    server.on("upgrade", (request, socket: Socket, head) => {
      upgraded.add(socket);
      if (busy.has(socket)) socket.destroy();
      else onUpgrade(request, socket, head);
    });
  const arrival = server instanceof SecureServer ? "secureConnection" : "connection";
  server.on(arrival, (socket: Socket) => parseInPieces(socket, upgraded));
}

/** Node parses up to 64 kB before anything else happens: a thousand requests, which are kept until their connection has closed. */
function parseInPieces(socket: Socket, upgraded: WeakSet<Socket>): void {
  const [parse] = socket.listeners("data") as ((data: Buffer) => void)[];
  if (!parse) return;
  const feed = (data: Buffer): void => {
    for (let at = 0; at < data.length && !socket.destroyed; at += piece) {
      parse.call(socket, data.subarray(at, at + piece));
      if (!upgraded.has(socket)) continue;
      // What follows is no HTTP, and not for this parser.
      socket.removeListener("data", feed);
      if (at + piece < data.length) socket.unshift(data.subarray(at + piece));
      return;
    }
  };
  socket.removeListener("data", parse);
  socket.on("data", feed);
}
