import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { Senders } from "./senders.ts";
import type { Traffic } from "./traffic.ts";
import type { IsProbe } from "./probes.ts";

/** A connection that has sent no request for this long counts as an arrival all the same: half a request is traffic, too. */
const patience = 500;
/** Between two looks at them, so that many connections do not mean many timers. */
const leastPause = 50;

/**
 * Connections that have not yet shown whether they carry traffic or only probes: their first request decides. A listener for
 * requests is in place only while there are such connections and a moment longer, so that where connections are pooled a request
 * costs nothing, and where they are not, coming and going of the listener does not cost more than the listener.
 */
export class FreshConnections {
  readonly #server: Server;
  readonly #traffic: Traffic;
  readonly #isProbe: IsProbe;
  readonly #senders: Senders;
  readonly #now: () => number;
  readonly #waiting = new Map<Socket, number>();
  #timer: NodeJS.Timeout | undefined;
  /** A listener of our own removed by somebody's removeAllListeners() is missed only by the next sweep. */
  #armed = false;

  constructor(server: Server, traffic: Traffic, isProbe: IsProbe, senders: Senders, now: () => number) {
    this.#server = server;
    this.#traffic = traffic;
    this.#isProbe = isProbe;
    this.#senders = senders;
    this.#now = now;
  }

  opened(socket: Socket): void {
    // Where connections are too many to ask each for its sender, waiting for its first request would cost as much again. A probe
    // among them is taken for traffic: one in hundreds.
    const standIn = this.#senders.standIn();
    if (standIn !== undefined) return this.#traffic.connection(standIn);
    this.#waiting.set(socket, this.#now());
    if (!this.#armed) {
      this.#armed = true;
      this.#server.prependListener("request", this.#onRequest);
    }
    this.#timer ??= setTimeout(this.#sweep, patience).unref();
  }

  /** Closed before it sent a whole request: a port scan, a TCP probe or a change of mind, never an arrival. */
  closed(socket: Socket): void {
    this.#waiting.delete(socket);
  }

  /** @returns true when this is the connection's first request, which is hereby accounted for. */
  firstRequest(socket: Socket, request: IncomingMessage): boolean {
    if (!this.#waiting.delete(socket)) return false;
    if (!this.#isProbe(request)) this.#traffic.connection(this.#senders.of(socket));
    return true;
  }

  stop(): void {
    this.#waiting.clear();
    this.#disarm();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  readonly #onRequest = (request: IncomingMessage): void => {
    this.firstRequest(request.socket, request);
  };

  readonly #sweep = (): void => {
    this.#timer = undefined;
    const now = this.#now();
    for (const [socket, openedAt] of this.#waiting) {
      const left = openedAt + patience - now;
      if (left > 0) {
        this.#timer = setTimeout(this.#sweep, Math.max(left, leastPause)).unref();
        return;
      }
      this.#waiting.delete(socket);
      this.#traffic.connection(this.#senders.of(socket));
    }
    this.#disarm();
  };

  #disarm(): void {
    if (!this.#armed) return;
    this.#armed = false;
    this.#server.removeListener("request", this.#onRequest);
  }
}
