import type { Server as NetServer, Socket } from "node:net";
import { activeSockets, connectionsOf, isFindable } from "../internals.ts";

/**
 * The open connections of a server. If the process can list its sockets, no connection is kept before the hold.
 * The list lacks three kinds of sockets. TLS sockets are kept from the beginning, because the list has only the socket beneath each. Sockets without
 * a handle, which a program emits into the server by hand, are kept from the beginning, too. Sockets that the application has unref()'d are not kept:
 * they are cut at the end.
 */
export class OpenSockets {
  readonly #server: NetServer;
  readonly #canAsk: boolean;
  readonly #onClosed: (socket: Socket) => void;
  readonly #sockets = new Set<Socket>();
  readonly #closed: (this: Socket) => void;
  #keepsAll: boolean;

  constructor(server: NetServer, isSecure: boolean, onClosed: (socket: Socket) => void) {
    this.#server = server;
    this.#onClosed = onClosed;
    this.#canAsk = !isSecure && activeSockets() !== undefined && connectionsOf(server) !== undefined;
    this.#keepsAll = !this.#canAsk;
    this.#closed = this.#closeListener();
  }

  /** To be called for each "connection" of the server. */
  opened(socket: Socket): void {
    if (this.#keepsAll || !isFindable(socket, this.#server)) this.#keep(socket);
  }

  /** From now on they are known one by one. */
  findAll(): void {
    this.#keepsAll = true;
    if (!this.#canAsk) return;
    for (const socket of activeSockets() ?? [])
      if (isFindable(socket, this.#server) && !socket.destroyed) this.#keep(socket);
  }

  get size(): number {
    return this.#keepsAll ? this.#sockets.size : (connectionsOf(this.#server) ?? this.#sockets.size);
  }

  has(socket: Socket): boolean {
    return this.#sockets.has(socket);
  }

  [Symbol.iterator](): IterableIterator<Socket> {
    return this.#sockets.values();
  }

  stop(): void {
    for (const socket of this.#sockets) socket.removeListener("close", this.#closed);
    this.#sockets.clear();
  }

  #keep(socket: Socket): void {
    if (this.#sockets.has(socket)) return;
    this.#sockets.add(socket);
    socket.on("close", this.#closed);
  }

  /** One function for all sockets, told apart by `this`: a closure for each would be most of the memory per connection. */
  #closeListener(): (this: Socket) => void {
    // oxlint-disable-next-line typescript/no-this-alias -- `this` of the listener is the socket
    const all = this;
    return function closed(this: Socket): void {
      all.#sockets.delete(this);
      all.#onClosed(this);
    };
  }
}
