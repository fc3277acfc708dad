import type { Socket } from "node:net";

import { carry, refuse, sessionEnd, type Connection, type ConnectionOptions } from "./connection.ts";
import { EventReader } from "./event-reader.ts";
import type { Exchange } from "./exchange.ts";
import { classify, gaveUp } from "./failures.ts";
import { allHeaders, headOf } from "../request-form.ts";
import { ResponseReader } from "./response.ts";
import { cut, openHttp1 } from "./socket.ts";

/** How long a new subscriber listens after its first event, in milliseconds. An end in that time is an end in the middle. */
const subscription = 200;

/**
 * One subscription to server-sent events. A request waits for the next event on it; several may wait. A stream that ends in order, the
 * answer complete and between two events, is followed by a new subscription elsewhere, as every EventSource does. Any other end loses the waiting requests.
 */
export class EventStream implements Connection {
  readonly id: number;
  readonly pod: string | undefined;
  readonly #options: ConnectionOptions;
  readonly #path: string;
  readonly #socket: Socket;
  readonly #reader = new ResponseReader();
  readonly #events = new EventReader();
  readonly #waiting = new Set<Exchange>();
  #connected: number | undefined;
  #carried = 0;
  #received = 0;
  #retiring = false;
  #severed = false;
  #lasting = false;
  #code = "EOF";
  #gone = false;
  #answering: NodeJS.Timeout | undefined;

  constructor(options: ConnectionOptions & { readonly path: string }) {
    this.id = options.id;
    this.pod = options.pod;
    this.#options = options;
    this.#path = options.path;
    this.#reader.onBody = (bytes, from, to) => this.#events.push(bytes, from, to);
    this.#reader.reset(0);
    this.#socket = openHttp1(options, {
      connected: () => {
        this.#connected = options.now();
      },
      ready: () => this.#subscribe(),
      read: (bytes, length) => this.#read(bytes, length),
      failed: (code) => {
        this.#code = code;
      },
      ended: (orderly) => this.#finish(orderly),
    });
  }

  get reusable(): boolean {
    return !this.#gone && !this.#retiring;
  }

  send(exchange: Exchange): void {
    carry(exchange, this, this.#carried++);
    const { record } = exchange;
    record.connected = this.#connected;
    if (exchange.mode === "new") this.#retiring = true;
    else this.#lasting = true;
    if (this.#connected !== undefined) record.sent = this.#options.now();
    exchange.giveUp = () => this.#giveUp(exchange);
    this.#waiting.add(exchange);
  }

  retire(): void {
    this.#retiring = true;
    if (this.#waiting.size === 0) this.#end();
  }

  sever(): void {
    this.#severed = true;
    this.#code = "ECONNRESET";
    cut(this.#socket);
    this.#finish(false);
  }

  #subscribe(): void {
    const { host, now, form } = this.#options;
    for (const { record } of this.#waiting) {
      record.connected = this.#connected;
      record.sent = now();
    }
    const ours = [
      ["Host", host],
      ["User-Agent", "lameduck-load"],
      ["Accept", "text/event-stream"],
      ["Cache-Control", "no-cache"],
      ["Connection", "keep-alive"],
    ] as const;
    this.#socket.write(`${headOf("GET", this.#path, allHeaders(ours, form))}\r\n`, "latin1");
  }

  #read(bytes: Buffer, length: number): void {
    this.#received += length;
    const before = this.#events.events;
    this.#reader.push(bytes, length);
    const { status, type, invalid, complete } = this.#reader;
    if (invalid || (status >= 200 && (status !== 200 || !type.startsWith("text/event-stream")))) {
      this.#refused(status);
      return;
    }
    if (this.#events.events > before) this.#event();
    if (complete) this.#finish(true);
  }

  #event(): void {
    for (const exchange of this.#waiting) {
      if (exchange.mode === "new") this.#answering ??= setTimeout(() => this.#answerAll(), subscription);
      else this.#answer(exchange);
    }
    if (this.#retiring && this.#waiting.size === 0) this.#end();
  }

  #answerAll(): void {
    for (const exchange of this.#waiting) this.#answer(exchange);
    this.#end();
  }

  #answer(exchange: Exchange): void {
    this.#waiting.delete(exchange);
    exchange.record.received = this.#received;
    exchange.record.status = this.#reader.status;
    // An event, not a whole answer: its number of bytes is not checked.
    const answer = { status: this.#reader.status, body: 0, text: "", reported: this.#reader.reported };
    this.#options.answered(exchange, answer);
    exchange.answered(answer, this.#options.now());
  }

  #refused(status: number): void {
    refuse(
      this.#waiting,
      { status, received: this.#received, at: this.#options.now() },
      { serverError: "NO_EVENTS", otherAnswer: "NOT_EVENTS" },
    );
    this.#waiting.clear();
    this.#end();
  }

  #giveUp(exchange: Exchange): void {
    if (!this.#waiting.delete(exchange)) return;
    exchange.fail(gaveUp(this.#connected), this.#options.now());
    // A stream without events is useless for later requests, too.
    if (this.#waiting.size === 0) this.#end();
  }

  /** Ended by the server, or still open. */
  #finish(orderly: boolean): void {
    if (this.#gone) return;
    const { now, again } = this.#options;
    const subscribed = this.#reader.status === 200;
    const whole =
      orderly && subscribed && (this.#reader.complete || this.#reader.end()) && this.#events.between;
    const failure = classify(this.#code, {
      connected: this.#connected !== undefined,
      received: this.#received,
    });
    const error = whole ? undefined : this.#events.between ? failure.error : "HALF_AN_EVENT";
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    const heard = this.#answering !== undefined;
    this.#end();
    if (this.#lasting && subscribed)
      this.#options.sessionEnded(
        sessionEnd(this, {
          connected: this.#connected,
          at: now(),
          error,
          received: this.#received,
          endedBySender: this.#severed,
        }),
      );
    for (const exchange of waiting) {
      exchange.record.received = this.#received;
      if (this.#severed) exchange.record.endedBySender = true;
      if (!whole) exchange.fail({ ...failure, error: error ?? failure.error }, now());
      else if (heard && exchange.mode === "new") this.#answer(exchange);
      else again(exchange);
    }
  }

  #end(): void {
    if (this.#gone) return;
    this.#gone = true;
    clearTimeout(this.#answering);
    this.#socket.destroy();
    this.#options.gone(this);
  }
}
