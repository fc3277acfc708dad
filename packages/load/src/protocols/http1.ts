import type { Socket } from "node:net";

import { BaseConnection, type ConnectionOptions } from "./connection.ts";
import type { Exchange } from "./exchange.ts";
import { gaveUp } from "./failures.ts";
import { ResponseReader } from "./response.ts";

/** What HTTP/1.1 needs besides. */
interface HttpConnectionOptions extends ConnectionOptions {
  /** The request's head, for a connection that is kept alive or closed. */
  readonly head: (exchange: Exchange, keepAlive: boolean) => string;
  readonly body: Buffer | undefined;
}

/** Node's and undici's clients leave this margin before the end of the idle time that a server announces. */
const idleMarginMs = 1_000;

/**
 * One HTTP/1.1 connection over a bare socket, clear or TLS, one request at a time, no pipelining, no retry. Bare because only so is every
 * errno, byte and moment ours to tell, and because it is the cheapest.
 */
export class HttpConnection extends BaseConnection<HttpConnectionOptions> {
  protected readonly socket: Socket;
  readonly #reader = new ResponseReader();
  /** Requests can be written: TLS is established, too. */
  #ready = false;
  #exchange: Exchange | undefined;
  #reuseUntil = Infinity;

  constructor(options: HttpConnectionOptions) {
    super(options);
    this.socket = this.open("http/1.1", {
      connected: () => {
        // A handshake that fails is not a connection that was never there.
        if (this.#exchange) this.#exchange.record.connected = this.connected;
      },
      ready: () => {
        this.#ready = true;
        if (this.#exchange) this.#write(this.#exchange);
      },
      read: (bytes, length) => this.#read(bytes, length),
    });
  }

  /** Whether the server, by its own announcement, still keeps it open. */
  get reusable(): boolean {
    return !this.gone && !this.retiring && this.options.now() < this.#reuseUntil;
  }

  send(exchange: Exchange): void {
    this.#exchange = exchange;
    this.received = 0;
    this.#reader.reset(exchange.wanted, this.options.form.method === "HEAD");
    exchange.giveUp = () => this.#giveUp();
    this.carry(exchange);
    if (this.#ready) this.#write(exchange);
  }

  retire(): void {
    this.retiring = true;
    if (!this.#exchange) this.#close();
  }

  #write(exchange: Exchange): void {
    exchange.record.sent = this.options.now();
    exchange.record.connected = this.connected;
    const head = this.options.head(exchange, exchange.mode === "pooled");
    const { body } = this.options;
    if (!body) this.socket.write(head, "latin1");
    else {
      this.socket.cork();
      this.socket.write(head, "latin1");
      this.socket.write(body);
      this.socket.uncork();
    }
  }

  #read(bytes: Buffer, length: number): void {
    const exchange = this.#exchange;
    if (!exchange) {
      // Nothing was asked: a 408, or bytes beyond the announced end. Such a connection is of no use.
      this.#close();
      return;
    }
    this.received += length;
    const taken = this.#reader.push(bytes, length);
    if (this.#reader.invalid) {
      this.#end(exchange);
      exchange.fail({ outcome: "wrong-body", error: "NOT_HTTP" }, this.options.now());
      this.#close();
    } else if (this.#reader.complete) this.#complete(exchange, taken === length);
  }

  #complete(exchange: Exchange, clean: boolean): void {
    this.#end(exchange);
    exchange.record.status = this.#reader.status;
    this.answered(exchange, this.#reader);
    const keepAlive =
      clean && exchange.mode === "pooled" && this.#reader.keepAlive && !this.retiring && !this.gone;
    if (!keepAlive) {
      this.#close();
      return;
    }
    const { idleLimit } = this.#reader;
    this.#reuseUntil =
      idleLimit === undefined
        ? Infinity
        : this.options.now() + Math.max(idleLimit - idleMarginMs, idleLimit / 2);
    this.options.idle(this);
  }

  #giveUp(): void {
    const exchange = this.#exchange;
    if (!exchange) return;
    this.#end(exchange);
    exchange.fail(gaveUp(this.connected), this.options.now());
    this.#close();
  }

  /** The socket has ended, in order or not. */
  protected finish(orderly: boolean): void {
    const exchange = this.#exchange;
    if (exchange) {
      if (orderly && this.#reader.end()) {
        this.#complete(exchange, true);
        return;
      }
      this.#end(exchange);
      if (this.received > 0 && this.#reader.status >= 200) {
        exchange.record.status = this.#reader.status;
        this.options.answered(exchange, this.#reader);
      }
      this.lose(exchange, this.failure());
    }
    this.leave();
  }

  #end(exchange: Exchange): void {
    exchange.record.received = this.received;
    this.#exchange = undefined;
  }

  #close(): void {
    this.socket.destroy();
    this.leave();
  }
}
