import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";

/** A WebSocket close frame of a server: 1001, "going away" (RFC 6455, 5.5.1 and 7.4.1). */
const goingAway = Buffer.from([0x88, 0x02, 0x03, 0xe9]);
/** How long a client has to answer the close frame. */
const answerWithin = 1_000;

interface Upgraded {
  readonly isWebSocket: boolean;
  /** Bytes sent when it asked for the upgrade: not more means that the upgrade has not been answered. */
  readonly sent: number;
  notifiedAt: number;
  readonly closed: () => void;
}

/**
 * Connections that have left HTTP. Listening for upgrades has an effect in Node (without a listener an upgrade is an ordinary
 * request), so this listens only where somebody else does.
 */
export class Upgrades {
  readonly #server: Server;
  readonly #now: () => number;
  readonly #seen: (socket: Socket, request: IncomingMessage) => void;
  readonly #sockets = new Map<Socket, Upgraded>();
  #listens = false;

  constructor(server: Server, now: () => number, seen: (socket: Socket, request: IncomingMessage) => void) {
    this.#server = server;
    this.#now = now;
    this.#seen = seen;
    server.on("newListener", this.#onNewListener);
    server.on("removeListener", this.#onRemoveListener);
    if (server.listenerCount("upgrade") > 0) this.#listen();
  }

  has(socket: Socket): boolean {
    return this.#sockets.has(socket);
  }

  /** WebSockets that are still to be sent 1001, or have yet to answer it. */
  get restless(): number {
    const latest = this.#now() - answerWithin;
    let count = 0;
    for (const { isWebSocket, notifiedAt } of this.#sockets.values())
      if (isWebSocket && notifiedAt > latest) count++;
    return count;
  }

  /**
   * Sends 1001 to each WebSocket, at a random time within `spread`. A raw frame is right whatever library serves the socket:
   * each writes whole frames, and control frames may come between the fragments of a message.
   */
  close(spread: number, random: () => number): void {
    for (const [socket, upgraded] of this.#sockets)
      if (upgraded.isWebSocket) setTimeout(() => this.#closeOne(socket, upgraded), random() * spread);
  }

  stop(): void {
    this.#server.removeListener("newListener", this.#onNewListener);
    this.#server.removeListener("removeListener", this.#onRemoveListener);
    this.#server.removeListener("upgrade", this.#onUpgrade);
    for (const [socket, { closed }] of this.#sockets) socket.removeListener("close", closed);
    this.#sockets.clear();
  }

  #closeOne(socket: Socket, upgraded: Upgraded): void {
    upgraded.notifiedAt = this.#now();
    if (socket.writable && socket.bytesWritten > upgraded.sent) socket.write(goingAway);
  }

  readonly #onUpgrade = (request: IncomingMessage, socket: Socket): void => {
    const isWebSocket = request.headers.upgrade?.toLowerCase() === "websocket";
    const closed = (): void => void this.#sockets.delete(socket);
    this.#sockets.set(socket, { isWebSocket, sent: socket.bytesWritten, notifiedAt: Infinity, closed });
    socket.once("close", closed);
    this.#seen(socket, request);
  };

  readonly #onNewListener = (event: string | symbol): void => {
    if (event === "upgrade" && !this.#listens) this.#listen();
  };

  readonly #onRemoveListener = (event: string | symbol): void => {
    if (event !== "upgrade" || !this.#listens || this.#server.listenerCount("upgrade") > 1) return;
    this.#listens = false;
    this.#server.removeListener("upgrade", this.#onUpgrade);
  };

  #listen(): void {
    this.#listens = true;
    this.#server.prependListener("upgrade", this.#onUpgrade);
  }
}
