import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { senderOf, type Traffic } from "../servers/traffic.ts";
import type { IsProbe } from "../options/requests.ts";

/** A connection that has sent no request for this long counts as an arrival all the same: half a request is traffic, too. */
const timeout = 500;
/** Between two looks at them, so that many connections do not mean many timers. */
const leastPause = 50;
/**
 * So many connections are looked at in each stretch of `timeout`, 500 a second; the others are only counted, and the count
 * is spread over the senders of those, so that the rates come out right on average. A probe among them is taken for traffic.
 */
const mostAsked = 250;

/**
 * Connections that have not yet shown whether they carry traffic or only probes: their first request decides. Before the hold a
 * listener for requests is in place only while there are such connections, so that where connections are pooled a request costs
 * nothing. Without a listener of the application's there is none of ours: on a server of HTTP/2 the first one, whoever adds it, changes
 * how streams are served.
 */
export class FreshConnections {
  readonly #server: Server;
  readonly #traffic: Traffic;
  readonly #isProbe: IsProbe;
  readonly #mayBeProbe: (socket: Socket, request: IncomingMessage) => boolean;
  readonly #now: () => number;
  readonly #waiting = new Map<Socket, number>();
  /** Senders of the connections looked at in this stretch; one that is the sender of several is there as often. */
  readonly #senders: string[] = [];
  #asked = 0;
  #mostAsked = mostAsked;
  /** Beyond those, and since when. */
  #more = 0;
  #moreFrom = 0;
  #timer: NodeJS.Timeout | undefined;
  #reading: NodeJS.Immediate | undefined;
  /** A listener of ours that somebody's removeAllListeners() took is missed until no connection is waited for. */
  #armed = false;

  /** @param mayBeProbe by what the connection's request is not enough for. */
  constructor(
    server: Server,
    traffic: Traffic,
    isProbe: IsProbe,
    now: () => number,
    mayBeProbe: (socket: Socket, request: IncomingMessage) => boolean = () => false,
  ) {
    this.#server = server;
    this.#traffic = traffic;
    this.#isProbe = isProbe;
    this.#now = now;
    this.#mayBeProbe = mayBeProbe;
  }

  opened(socket: Socket): void {
    if (this.#asked >= this.#mostAsked) {
      this.#more++;
      return;
    }
    const now = this.#now();
    if (++this.#asked === this.#mostAsked) this.#moreFrom = now;
    this.#waiting.set(socket, now);
    if (this.#mostAsked < Infinity) this.#arm();
    this.#timer ??= setTimeout(this.#sweep, timeout).unref();
  }

  /** Closed before it sent a whole request: a port scan, a TCP probe or a change of mind, never an arrival. */
  closed(socket: Socket): void {
    this.#forget(socket);
  }

  /** From the hold on each connection is looked at, and `firstRequest()` reports requests. */
  askAll(): void {
    this.#tellMore(this.#now());
    this.#mostAsked = Infinity;
    this.#disarm();
  }

  /** @returns true when this is the connection's first request, which is hereby accounted for. */
  firstRequest(socket: Socket, request: IncomingMessage): boolean {
    if (!this.#forget(socket)) return false;
    if (!this.#isProbe(request) && !this.#mayBeProbe(socket, request)) this.#arrival(socket);
    return true;
  }

  stop(): void {
    this.#waiting.clear();
    this.#disarm();
    clearTimeout(this.#timer);
    clearImmediate(this.#reading);
    this.#timer = undefined;
  }

  readonly #onRequest = (request: IncomingMessage): void => {
    this.firstRequest(request.socket, request);
  };

  /** A timer that was late because the loop was blocked comes before the sockets are read: what they hold may be a probe's request. */
  readonly #sweep = (): void => {
    this.#reading = setImmediate(this.#look);
  };

  readonly #look = (): void => {
    this.#timer = undefined;
    const now = this.#now();
    this.#tellMore(now);
    for (const [socket, openedAt] of this.#waiting) {
      const left = openedAt + timeout - now;
      if (left > 0 && !socket.destroyed) {
        this.#timer = setTimeout(this.#sweep, Math.max(left, leastPause)).unref();
        return;
      }
      this.#forget(socket);
      if (!socket.destroyed) this.#arrival(socket);
    }
  };

  #arrival(socket: Socket): void {
    const sender = senderOf(socket);
    if (this.#mostAsked < Infinity) this.#senders.push(sender);
    this.#traffic.connection(sender);
  }

  /** As if each had come from one of those looked at, at equal distances. Begins another stretch. */
  #tellMore(now: number): void {
    const gap = (now - this.#moreFrom) / this.#more;
    for (let index = 0; index < this.#more; index++) {
      const sender = this.#senders[index % this.#senders.length];
      // None when all of those looked at were probes: then so were these.
      if (sender !== undefined) this.#traffic.connection(sender, this.#moreFrom + gap * (index + 1));
    }
    this.#asked = 0;
    this.#more = 0;
    this.#senders.length = 0;
  }

  /** @returns whether it was waited for. */
  #forget(socket: Socket): boolean {
    const waited = this.#waiting.delete(socket);
    if (this.#waiting.size === 0) this.#disarm();
    return waited;
  }

  #arm(): void {
    if (this.#armed || this.#server.listenerCount("request") === 0) return;
    this.#armed = true;
    this.#server.prependListener("request", this.#onRequest);
  }

  #disarm(): void {
    if (!this.#armed) return;
    this.#armed = false;
    this.#server.removeListener("request", this.#onRequest);
  }
}
