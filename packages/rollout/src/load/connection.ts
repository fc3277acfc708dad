import { connect, type Socket } from "node:net";

import type { Exchange } from "./exchange.ts";
import { classify } from "./failures.ts";
import { ResponseReader } from "./response.ts";

/** Where a connection goes and what surrounds it. */
export interface ConnectionOptions {
  readonly id: number;
  /** The pod, where the sender chose it itself. */
  readonly pod: string | undefined;
  readonly address: string;
  readonly port: number;
  readonly localAddress: string | undefined;
  /** Shared by all connections: bytes are consumed before the next read. */
  readonly buffer: Buffer;
  readonly now: () => number;
  /** The request's head, for a connection that stays open or not. */
  readonly head: (exchange: Exchange, stays: boolean) => string;
  /** The answer is complete: tells who gave it. */
  readonly answered: (exchange: Exchange, response: ResponseReader) => void;
  /** It can carry another request. */
  readonly idle: (connection: HttpConnection) => void;
  /** It has ended. */
  readonly gone: (connection: HttpConnection) => void;
}

/** Node's and undici's clients leave this margin before the end of the idle time that a server announces. */
const idleMargin = 1_000;

/**
 * One HTTP/1.1 connection over a bare socket, one request at a time, no pipelining, no retry. Bare because only so is every errno, byte
 * and moment ours to tell, and because it is the cheapest (packages/rollout/bench has the figures).
 */
export class HttpConnection {
  readonly id: number;
  readonly pod: string | undefined;
  /** When it was established. */
  connected: number | undefined;
  /** Requests it has carried. */
  carried = 0;
  /** To be closed as soon as the request on it has ended. */
  retiring = false;
  readonly #options: ConnectionOptions;
  readonly #socket: Socket;
  readonly #reader = new ResponseReader();
  #exchange: Exchange | undefined;
  #reuseUntil = Infinity;
  #received = 0;
  #code = "EOF";
  #gone = false;
  #severed = false;

  constructor(options: ConnectionOptions) {
    this.id = options.id;
    this.pod = options.pod;
    this.#options = options;
    this.#socket = connect({
      host: options.address,
      port: options.port,
      ...(options.localAddress === undefined ? {} : { localAddress: options.localAddress }),
      noDelay: true,
      autoSelectFamily: false,
      onread: {
        buffer: options.buffer,
        callback: (length, bytes) => {
          this.#read(bytes as Buffer, length);
          return true;
        },
      },
    });
    this.#socket.on("connect", () => {
      this.connected = options.now();
      if (this.#exchange) this.#write(this.#exchange);
    });
    this.#socket.on("error", (error: NodeJS.ErrnoException) => {
      this.#code = error.code ?? error.message;
    });
    this.#socket.on("end", () => this.#finish(true));
    this.#socket.on("close", () => this.#finish(false));
  }

  /** Whether the server, by its own announcement, still keeps it open. */
  get reusable(): boolean {
    return !this.#gone && !this.retiring && this.#options.now() < this.#reuseUntil;
  }

  get busy(): boolean {
    return this.#exchange !== undefined;
  }

  send(exchange: Exchange): void {
    this.#exchange = exchange;
    this.#received = 0;
    this.#reader.reset(exchange.wanted);
    exchange.giveUp = () => this.#giveUp();
    const { record } = exchange;
    record.connection = this.id;
    record.reused = this.carried > 0;
    if (this.pod !== undefined) {
      record.pod = this.pod;
      record.podKnownBy = "choice";
    }
    this.carried++;
    if (this.connected !== undefined) this.#write(exchange);
  }

  /** Closes it: at once when idle, else after the request on it. */
  retire(): void {
    this.retiring = true;
    if (!this.#exchange) this.#close();
  }

  /** Cuts it with a reset, as a balancer does that severs established connections. */
  sever(): void {
    this.#severed = true;
    this.#code = "ECONNRESET";
    this.#socket.resetAndDestroy();
    this.#finish(false);
  }

  #write(exchange: Exchange): void {
    exchange.record.sent = this.#options.now();
    exchange.record.connected = this.connected;
    this.#socket.write(this.#options.head(exchange, exchange.mode === "pooled"), "latin1");
  }

  #read(bytes: Buffer, length: number): void {
    const exchange = this.#exchange;
    if (!exchange) {
      // Nothing was asked: a 408, or bytes beyond the announced end. Such a connection is of no use.
      this.#close();
      return;
    }
    this.#received += length;
    const taken = this.#reader.push(bytes, length);
    if (this.#reader.invalid) {
      this.#end(exchange);
      exchange.fail({ outcome: "wrong-body", error: "NOT_HTTP" }, this.#options.now());
      this.#close();
    } else if (this.#reader.complete) this.#complete(exchange, taken === length);
  }

  #complete(exchange: Exchange, clean: boolean): void {
    this.#end(exchange);
    exchange.record.status = this.#reader.status;
    this.#options.answered(exchange, this.#reader);
    exchange.answered(this.#reader, this.#options.now());
    const stays =
      clean && exchange.mode === "pooled" && this.#reader.keepAlive && !this.retiring && !this.#gone;
    if (!stays) {
      this.#close();
      return;
    }
    const { idleLimit } = this.#reader;
    this.#reuseUntil =
      idleLimit === undefined
        ? Infinity
        : this.#options.now() + Math.max(idleLimit - idleMargin, idleLimit / 2);
    this.#options.idle(this);
  }

  #giveUp(): void {
    const exchange = this.#exchange;
    if (!exchange) return;
    this.#end(exchange);
    exchange.fail(
      this.connected === undefined
        ? { outcome: "unreachable", error: "ETIMEDOUT" }
        : { outcome: "timeout", error: "ETIMEDOUT" },
      this.#options.now(),
    );
    this.#close();
  }

  /** The socket has ended, in order or not. */
  #finish(orderly: boolean): void {
    const exchange = this.#exchange;
    if (exchange) {
      if (orderly && this.#reader.end()) {
        this.#complete(exchange, true);
        return;
      }
      this.#end(exchange);
      if (this.#severed) exchange.record.endedBySender = true;
      if (this.#received > 0 && this.#reader.status >= 200) {
        exchange.record.status = this.#reader.status;
        this.#options.answered(exchange, this.#reader);
      }
      exchange.fail(
        classify(this.#code, { connected: this.connected !== undefined, received: this.#received }),
        this.#options.now(),
      );
    }
    this.#leave();
  }

  #end(exchange: Exchange): void {
    exchange.record.received = this.#received;
    this.#exchange = undefined;
  }

  #close(): void {
    this.#socket.destroy();
    this.#leave();
  }

  #leave(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#options.gone(this);
  }
}
