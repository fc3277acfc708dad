import type { Socket } from "node:net";
import type { Answer } from "../answer.ts";
import type { Exchange, Failure, Finished } from "./exchange.ts";
import { classify } from "./failures.ts";
import { allHeaders, headOf, type RequestForm } from "../request-form.ts";
import { cut, open, type SocketEvents, type SocketOptions } from "./socket.ts";

/** One connection of the load, in whatever protocol. */
export interface Connection {
  readonly id: number;
  /** The pod, where the sender chose it itself. */
  readonly pod: string | undefined;
  /** Whether it can carry one more request, as far as its client can know. */
  readonly reusable: boolean;
  send(exchange: Exchange): void;
  /** Closes it: at once when idle, else after what is on it. */
  retire(): void;
  /** Cuts it with a reset, as a balancer does that severs established connections. */
  sever(): void;
}

/** How a lasting connection (a WebSocket, an event stream) ended, where its client did not end it. */
export type SessionEnd = { readonly at: number } & Readonly<
  Pick<
    Finished,
    "connection" | "pod" | "podKnownBy" | "connected" | "outcome" | "error" | "received" | "endedBySender"
  >
>;

/** Where a connection goes and what surrounds it. */
export interface ConnectionOptions extends SocketOptions {
  readonly id: number;
  /** What every request says, beside its path and host. */
  readonly form: RequestForm;
  readonly now: () => number;
  /** The answer is complete. Says which pod gave it. */
  readonly answered: (exchange: Exchange, answer: Answer) => void;
  /** The connection can carry another request, and carries none. */
  readonly idle: (connection: Connection) => void;
  /** It has ended. */
  readonly gone: (connection: Connection) => void;
  /** The server has said that it has not processed this one: it may go elsewhere, and does in every client of the protocol. */
  readonly again: (exchange: Exchange) => void;
  readonly sessionEnded: (end: SessionEnd) => void;
}

/** What connections of all protocols share: what they carry, and how they were cut. */
export abstract class BaseConnection<Options extends ConnectionOptions> implements Connection {
  readonly id: number;
  readonly pod: string | undefined;
  protected readonly options: Options;
  protected abstract readonly socket: Socket;
  /** When TCP was established. */
  protected connected: number | undefined;
  /** It is closed as soon as nothing is on it. */
  protected retiring = false;
  /** Bytes. */
  protected received = 0;
  /** Why it ended. */
  protected code = "EOF";
  protected severed = false;
  protected gone = false;
  #carried = 0;

  constructor(options: Options) {
    this.id = options.id;
    this.pod = options.pod;
    this.options = options;
  }

  abstract get reusable(): boolean;
  abstract send(exchange: Exchange): void;
  abstract retire(): void;
  /** It has ended; `orderly`: by an end of stream. */
  protected abstract finish(orderly: boolean): void;

  sever(): void {
    this.severed = true;
    this.code = "ECONNRESET";
    cut(this.socket);
    this.finish(false);
  }

  /** Notes on the request's record what carries it. */
  protected carry({ record }: Exchange): void {
    record.connection = this.id;
    record.reused = this.#carried++ > 0;
    if (this.pod === undefined) return;
    record.pod = this.pod;
    record.podKnownBy = "choice";
  }

  protected open(alpn: string, { connected, ...events }: Omit<SocketEvents, "failed" | "ended">): Socket {
    return open(this.options, alpn, {
      ...events,
      connected: () => {
        this.connected = this.options.now();
        connected();
      },
      failed: (code) => {
        this.code = code;
      },
      ended: (orderly) => this.finish(orderly),
    });
  }

  /** Reports its end, once. */
  protected leave(): void {
    if (this.gone) return;
    this.gone = true;
    this.options.gone(this);
  }

  protected answered(exchange: Exchange, answer: Answer): void {
    this.options.answered(exchange, answer);
    exchange.answered(answer, this.options.now());
  }

  /** Ends a request that was on it when it ended. */
  protected lose(exchange: Exchange, failure: Failure): void {
    if (this.severed) exchange.record.endedBySender = true;
    exchange.fail(failure, this.options.now());
  }

  /** What becomes of a request that was on it when it ended. */
  protected failure(received = this.received): Failure {
    return classify(this.code, { connected: this.connected !== undefined, received });
  }
}

/** A connection that begins with a GET and then lasts, as a WebSocket and an event stream do. */
export abstract class LastingConnection extends BaseConnection<
  ConnectionOptions & { readonly path: string }
> {
  /** It has carried requests that want a connection that lasts. */
  #lasting = false;

  send(exchange: Exchange): void {
    this.carry(exchange);
    exchange.record.connected = this.connected;
    if (exchange.mode === "new") this.retiring = true;
    else this.#lasting = true;
    exchange.giveUp = () => this.giveUp(exchange);
    this.wait(exchange);
  }

  /** The exchange waits for its answer on this connection. */
  protected abstract wait(exchange: Exchange): void;
  protected abstract giveUp(exchange: Exchange): void;

  protected get(headers: readonly (readonly [name: string, value: string])[]): void {
    const { host, form, path } = this.options;
    const all = allHeaders([["Host", host], ["User-Agent", "lameduck-load"], ...headers], form);
    this.socket.write(`${headOf("GET", path, all)}\r\n`, "latin1");
  }

  /** The server answered something else than the protocol: every request that waited fails, with the error code given for each case. */
  protected refused(
    exchanges: Iterable<Exchange>,
    status: number,
    errors: { readonly serverError: string; readonly otherAnswer: string },
  ): void {
    for (const exchange of exchanges) {
      exchange.record.status = status || undefined;
      exchange.record.received = this.received;
      const failure: Failure =
        status >= 500
          ? { outcome: "bad-status", error: errors.serverError }
          : { outcome: "wrong-body", error: errors.otherAnswer };
      exchange.fail(failure, this.options.now());
    }
  }

  /** Reports how it ended where its client did not end it. @param error undefined for an orderly end. */
  protected sessionEnded(error: string | undefined): void {
    if (!this.#lasting) return;
    this.options.sessionEnded({
      connection: this.id,
      pod: this.pod,
      podKnownBy: this.pod === undefined ? undefined : "choice",
      connected: this.connected,
      at: this.options.now(),
      outcome: error === undefined ? "ok" : "truncated",
      error,
      received: this.received,
      endedBySender: this.severed,
    });
  }
}
