import type { Socket } from "node:net";

import { LastingConnection, type ConnectionOptions } from "./connection.ts";
import { EventReader } from "./event-reader.ts";
import type { Exchange } from "./exchange.ts";
import { gaveUp } from "./failures.ts";
import { ResponseReader } from "./response.ts";

/** How long a new subscriber listens after its first event. An end in that time is an end in the middle. */
const subscriptionMs = 200;

/**
 * One subscription to server-sent events. A request waits for the next event on it; several may wait. A stream that ends in order, the
 * answer complete and between two events, is followed by a new subscription elsewhere, as every EventSource does. Any other end loses the waiting requests.
 */
export class EventStream extends LastingConnection {
  protected readonly socket: Socket;
  readonly #reader = new ResponseReader();
  readonly #events = new EventReader();
  readonly #waiting = new Set<Exchange>();
  #answering: NodeJS.Timeout | undefined;

  constructor(options: ConnectionOptions & { readonly path: string }) {
    super(options);
    this.#reader.onBody = (bytes, from, to) => this.#events.push(bytes, from, to);
    this.#reader.reset(0);
    this.socket = this.open("http/1.1", {
      connected: () => undefined,
      ready: () => this.#subscribe(),
      read: (bytes, length) => this.#read(bytes, length),
    });
  }

  get reusable(): boolean {
    return !this.gone && !this.retiring;
  }

  protected wait(exchange: Exchange): void {
    if (this.connected !== undefined) exchange.record.sent = this.options.now();
    this.#waiting.add(exchange);
  }

  retire(): void {
    this.retiring = true;
    if (this.#waiting.size === 0) this.#end();
  }

  #subscribe(): void {
    for (const { record } of this.#waiting) {
      record.connected = this.connected;
      record.sent = this.options.now();
    }
    this.get([
      ["Accept", "text/event-stream"],
      ["Cache-Control", "no-cache"],
      ["Connection", "keep-alive"],
    ]);
  }

  #read(bytes: Buffer, length: number): void {
    this.received += length;
    const before = this.#events.events;
    this.#reader.push(bytes, length);
    const { status, type, invalid, complete } = this.#reader;
    if (invalid || (status >= 200 && (status !== 200 || !type.startsWith("text/event-stream")))) {
      this.refused(this.#waiting, status, { serverError: "NO_EVENTS", otherAnswer: "NOT_EVENTS" });
      this.#waiting.clear();
      this.#end();
      return;
    }
    if (this.#events.events > before) this.#event();
    if (complete) this.finish(true);
  }

  #event(): void {
    for (const exchange of this.#waiting) {
      if (exchange.mode === "new") this.#answering ??= setTimeout(() => this.#answerAll(), subscriptionMs);
      else this.#answer(exchange);
    }
    if (this.retiring && this.#waiting.size === 0) this.#end();
  }

  #answerAll(): void {
    for (const exchange of this.#waiting) this.#answer(exchange);
    this.#end();
  }

  #answer(exchange: Exchange): void {
    this.#waiting.delete(exchange);
    exchange.record.received = this.received;
    exchange.record.status = this.#reader.status;
    // An event, not a whole answer: its number of bytes is not checked.
    const answer = { status: this.#reader.status, body: 0, text: "", reported: this.#reader.reported };
    this.answered(exchange, answer);
  }

  protected giveUp(exchange: Exchange): void {
    if (!this.#waiting.delete(exchange)) return;
    exchange.fail(gaveUp(this.connected), this.options.now());
    // A stream without events is useless for later requests, too.
    if (this.#waiting.size === 0) this.#end();
  }

  /** Ended by the server, or still open. */
  protected finish(orderly: boolean): void {
    if (this.gone) return;
    const subscribed = this.#reader.status === 200;
    const whole =
      orderly && subscribed && (this.#reader.complete || this.#reader.end()) && this.#events.between;
    const failure = this.failure();
    const error = whole ? undefined : this.#events.between ? failure.error : "HALF_AN_EVENT";
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    const heard = this.#answering !== undefined;
    this.#end();
    if (subscribed) this.sessionEnded(error);
    for (const exchange of waiting) {
      exchange.record.received = this.received;
      if (!whole) this.lose(exchange, { ...failure, error: error ?? failure.error });
      else if (heard && exchange.mode === "new") this.#answer(exchange);
      else this.options.again(exchange);
    }
  }

  #end(): void {
    if (this.gone) return;
    clearTimeout(this.#answering);
    this.socket.destroy();
    this.leave();
  }
}
