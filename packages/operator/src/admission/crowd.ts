import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server } from "node:https";
import type { Socket } from "node:net";

/** An API server keeps some 25 idle connections to a webhook, and opens more when many pods come. */
const mostConnections = 500;

type Caller = Pick<Socket, "remoteAddress" | "remotePort">;

/**
 * The connections of a server that anybody in the cluster can reach. Where there are too many, the one goes that was of no use for longest:
 * refusing new ones would shut the API server out.
 */
export class Crowd {
  /** In the order in which they were last of use. */
  readonly #sockets = new Map<string, Socket>();
  readonly #waiting = new Set<string>();
  readonly #onDrop: () => void;

  constructor(server: Server, onDrop: () => void = () => undefined) {
    this.#onDrop = onDrop;
    server.on("connection", (socket: Socket) => this.#join(socket));
    server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
      const key = keyOf(socket);
      // Its answer may take time: the connection is not given up for that.
      response.req.once("end", () => this.#waiting.add(key));
      response.once("prefinish", () => this.#answered(key));
    });
  }

  #answered(key: string): void {
    this.#waiting.delete(key);
    const socket = this.#sockets.get(key);
    if (!socket) return;
    this.#sockets.delete(key);
    this.#sockets.set(key, socket);
  }

  #join(socket: Socket): void {
    const key = keyOf(socket);
    this.#sockets.set(key, socket);
    socket.once("close", () => {
      this.#waiting.delete(key);
      if (this.#sockets.get(key) === socket) this.#sockets.delete(key);
    });
    if (this.#sockets.size <= mostConnections) return;
    for (const [one, useless] of this.#sockets)
      if (!this.#waiting.has(one)) {
        useless.destroy();
        this.#sockets.delete(one);
        this.#onDrop();
        return;
      }
  }
}

/** The same for the connection and for the TLS on it. */
function keyOf({ remoteAddress = "", remotePort = 0 }: Caller): string {
  return `${remoteAddress} ${remotePort}`;
}
