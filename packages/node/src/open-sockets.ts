import { Socket, type Server as NetServer } from "node:net";

interface Handles {
  _getActiveHandles?: () => readonly unknown[];
}

/**
 * The open connections of a server. Until the hold nothing is kept of a connection where the process can be asked for all of them in
 * one go, by `process._getActiveHandles()`: undocumented, but in every Node from 0.x to 26. What that does not list is kept from the
 * beginning: TLS sockets, for which it lists what is beneath, and sockets without a handle that are emitted into a server by hand.
 * Nor does it list sockets that the application has unref()'d: those are cut at the end like any stranger's.
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
    this.#canAsk = !isSecure && typeof (process as Handles)._getActiveHandles === "function";
    this.#keepsAll = !this.#canAsk;
    this.#closed = this.#closeListener();
  }

  /** From the "connection" of each. */
  opened(socket: Socket): void {
    if (this.#keepsAll || !hasHandle(socket)) this.#keep(socket);
  }

  /** From now on they are known one by one. */
  findAll(): void {
    this.#keepsAll = true;
    if (!this.#canAsk) return;
    for (const handle of (process as Handles)._getActiveHandles?.() ?? [])
      if (handle instanceof Socket && serverOf(handle) === this.#server && !handle.destroyed)
        this.#keep(handle);
  }

  get size(): number {
    if (this.#keepsAll) return this.#sockets.size;
    // What getConnections() answers from, which answers only later.
    return (this.#server as { _connections?: number })._connections ?? this.#sockets.size;
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

function hasHandle(socket: Socket): boolean {
  return (socket as { _handle?: unknown })._handle != null;
}

/** Set by net, and by http for sockets that came another way (node#13435). */
function serverOf(socket: Socket): unknown {
  return (socket as { server?: unknown }).server;
}
