import type { IncomingMessage, RequestListener, Server } from "node:http";
import { Server as SecureServer } from "node:https";
import type { Socket } from "node:net";

/** A usual request has fewer. */
const pieceBytes = 4_096;

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

/**
 * Looks after each piece whether the connection has ended. Node alone parses up to 64 kB first: 2,400 requests, which it keeps until the connection has
 * closed. 500 such connections made a process grow to 2.6 GB, and to 360 MB by this. ../test/one-at-a-time.test.ts shows the attack.
 */
function parseInPieces(socket: Socket, upgraded: WeakSet<Socket>): void {
  const [parse] = socket.listeners("data") as ((data: Buffer) => void)[];
  if (!parse) return;
  const feed = (data: Buffer): void => {
    for (let at = 0; at < data.length && !socket.destroyed; at += pieceBytes) {
      parse.call(socket, data.subarray(at, at + pieceBytes));
      if (!upgraded.has(socket)) continue;
      // What follows is no HTTP, and not for this parser.
      socket.removeListener("data", feed);
      if (at + pieceBytes < data.length) socket.unshift(data.subarray(at + pieceBytes));
      return;
    }
  };
  socket.removeListener("data", parse);
  socket.on("data", feed);
}
