import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { LoopbackProbes } from "./loopback-probes.ts";
import { senderOf } from "../internals.ts";
import type { WatchContext } from "./watch.ts";

/** A connection that has sent no request for this long counts as an arrival all the same: half a request is traffic, too. */
const patienceMs = 500;
/** Between two looks at them, so that many connections do not mean many timers. */
const leastPauseMs = 50;
/**
 * So many connections are classified in each stretch of `patienceMs`, 500 a second. The others are only counted, and the count is spread over the
 * senders of those, so that the rates come out right on average. A probe among them is taken for traffic.
 */
const mostInStretch = 250;

/**
 * Connections of which it is not known yet whether they carry traffic or only probes: their first request decides. Before the hold a
 * listener for requests is in place only while there are such connections, so that where connections are pooled a request costs
 * nothing. Without a listener of the application's there is none of ours: on a server of HTTP/2 the first one, whoever adds it, changes
 * how streams are served.
 */
export class UnclassifiedConnections {
  readonly #server: Server;
  readonly #context: WatchContext;
  readonly #loopback: LoopbackProbes;
  readonly #waiting = new Map<Socket, number>();
  /** Senders of the traffic in this stretch; one that has made several connections is there as often. */
  readonly #senders: string[] = [];
  #inStretch = 0;
  #mostInStretch = mostInStretch;
  /** Beyond those, and since when. */
  #more = 0;
  #moreFrom = 0;
  #timer: NodeJS.Timeout | undefined;
  #reading: NodeJS.Immediate | undefined;
  /** A listener of ours that somebody's removeAllListeners() took is missed until no connection is waited for. */
  #listens = false;

  constructor(server: Server, context: WatchContext) {
    this.#server = server;
    this.#context = context;
    this.#loopback = new LoopbackProbes(context.now);
  }

  opened(socket: Socket): void {
    if (this.#inStretch >= this.#mostInStretch) {
      this.#more++;
      return;
    }
    const now = this.#context.now();
    if (++this.#inStretch === this.#mostInStretch) this.#moreFrom = now;
    this.#waiting.set(socket, now);
    if (this.#mostInStretch < Infinity) this.#listen();
    this.#timer ??= setTimeout(this.#sweep, patienceMs).unref();
  }

  /** Closed before it sent a whole request: a port scan, a TCP probe or a change of mind, never an arrival. */
  closed(socket: Socket): void {
    this.#forget(socket);
  }

  /** From the hold on each connection is classified, and `firstRequest()` reports requests. What is not known to be a probe is traffic. */
  classifyAll(): void {
    this.#tellMore(this.#context.now());
    this.#mostInStretch = Infinity;
    this.#leave();
    for (const sender of this.#loopback.undecided()) this.#context.traffic.connection(sender);
  }

  /** @returns true when this is the connection's first request, which is hereby accounted for. */
  firstRequest(socket: Socket, request: IncomingMessage): boolean {
    if (!this.#forget(socket)) return false;
    const { isProbe, holds } = this.#context;
    if (!isProbe(request) && !(holds && this.#loopback.takes(socket, request))) this.#arrival(socket);
    return true;
  }

  /** Whether a request is a probe's, by itself or by its connection. */
  isProbe(request: IncomingMessage): boolean {
    return this.#context.isProbe(request) || this.#loopback.has(request);
  }

  stop(): void {
    this.#waiting.clear();
    this.#leave();
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
    const now = this.#context.now();
    this.#tellMore(now);
    for (const [socket, openedAt] of this.#waiting) {
      const left = openedAt + patienceMs - now;
      if (left > 0 && !socket.destroyed) {
        this.#timer = setTimeout(this.#sweep, Math.max(left, leastPauseMs)).unref();
        return;
      }
      this.#forget(socket);
      if (!socket.destroyed) this.#arrival(socket);
    }
  };

  #arrival(socket: Socket): void {
    const sender = senderOf(socket);
    if (this.#mostInStretch < Infinity) this.#senders.push(sender);
    this.#context.traffic.connection(sender);
  }

  /** As if each had come from one of those classified, at equal distances. Begins another stretch. */
  #tellMore(now: number): void {
    const gap = (now - this.#moreFrom) / this.#more;
    for (let index = 0; index < this.#more; index++) {
      const sender = this.#senders[index % this.#senders.length];
      // None when all of those classified were probes: then so were these.
      if (sender !== undefined) this.#context.traffic.connection(sender, this.#moreFrom + gap * (index + 1));
    }
    this.#inStretch = 0;
    this.#more = 0;
    this.#senders.length = 0;
  }

  /** @returns whether it was waited for. */
  #forget(socket: Socket): boolean {
    const waited = this.#waiting.delete(socket);
    if (this.#waiting.size === 0) this.#leave();
    return waited;
  }

  #listen(): void {
    if (this.#listens || this.#server.listenerCount("request") === 0) return;
    this.#listens = true;
    this.#server.prependListener("request", this.#onRequest);
  }

  #leave(): void {
    if (!this.#listens) return;
    this.#listens = false;
    this.#server.removeListener("request", this.#onRequest);
  }
}
