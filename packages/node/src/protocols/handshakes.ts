import type { Server as NetServer, Socket } from "node:net";
import { socketUnder } from "../internals.ts";
import type { ConnectionWatch, Cut, WatchContext } from "./watch.ts";

/** How long a handshake is waited for once the listener is closed: two round trips of a slow client. */
const timeoutMs = 1_000;

/**
 * Connections to a TLS server that are still shaking hands: the protocol's own watch cannot know of them yet, and ending the process
 * would reset what their senders take for accepted. Seen from the hold on only, so that it costs nothing before.
 */
export class Handshakes implements ConnectionWatch {
  readonly #server: NetServer;
  readonly #context: WatchContext;
  readonly #pending = new Map<Socket, () => void>();

  constructor(server: NetServer, context: WatchContext) {
    this.#server = server;
    this.#context = context;
  }

  /** Connections whose handshake has not ended. */
  get open(): number {
    return this.#pending.size;
  }

  hold(): void {
    this.#server.on("connection", this.#opened);
    this.#server.on("secureConnection", this.#done);
  }

  restless(): number {
    const { now, stoppedAt } = this.#context;
    return now() < stoppedAt + timeoutMs ? this.#pending.size : 0;
  }

  /** Nothing was asked on them yet, and nothing can be said before the handshake is over. */
  endIdle(): void {
    for (const socket of this.#pending.keys()) socket.destroy();
  }

  cut(): Cut {
    const connections = this.#pending.size;
    this.endIdle();
    return { requests: 0, connections };
  }

  detach(): void {
    this.#server.removeListener("connection", this.#opened);
    this.#server.removeListener("secureConnection", this.#done);
    for (const [socket, closed] of this.#pending) socket.removeListener("close", closed);
    this.#pending.clear();
  }

  readonly #opened = (socket: Socket): void => {
    const closed = (): boolean => this.#pending.delete(socket);
    this.#pending.set(socket, closed);
    socket.once("close", closed);
  };

  readonly #done = (socket: Socket): void => {
    const parent = socketUnder(socket);
    const closed = parent && this.#pending.get(parent);
    if (!parent || !closed) return;
    parent.removeListener("close", closed);
    this.#pending.delete(parent);
  };
}
