import type { Answer } from "../answer.ts";
import type { Connection, ConnectionOptions, SessionEnd } from "./connection.ts";
import { EventStream } from "./event-stream.ts";
import type { Exchange } from "./exchange.ts";
import { HttpConnection } from "./http1.ts";
import { Http2Connection } from "./http2.ts";
import type { LoadPlan } from "../plan.ts";
import { allHeaders, headOf } from "../request-form.ts";
import type { Place } from "./socket.ts";
import { WebSocketConnection } from "./websocket.ts";

/** What the caller does with the connection afterwards. */
export type Handlers = Pick<ConnectionOptions, "idle" | "gone" | "again"> &
  Partial<Pick<ConnectionOptions, "answered">>;

export type Dial = (place: Place, handlers: Handlers) => Connection;

/** Large enough that a burst of a streamed body takes one read. */
const bufferBytes = 64 * 1024;

/** A client that is sent away by one server after another gives up; gRPC's transparent retries stop earlier, browsers' later. */
const mostRetries = 5;

/** Opens the generator's connections and numbers them. */
export class Dialer {
  readonly #now: () => number;
  readonly #plan: LoadPlan;
  readonly #body: Buffer | undefined;
  readonly #buffer = Buffer.allocUnsafe(bufferBytes);
  readonly #heads = new Map<string, string>();
  #connections = 0;

  constructor(now: () => number, plan: LoadPlan) {
    this.#now = now;
    this.#plan = plan;
    this.#body = plan.request.body === undefined ? undefined : Buffer.from(plan.request.body, "base64");
  }

  /** `named` requests carry their number, for a proxy's log. */
  from(options: {
    readonly localAddress: string | undefined;
    readonly named: boolean;
    readonly sessionEnded: (end: SessionEnd) => void;
  }): Dial {
    const { localAddress, named, sessionEnded } = options;
    return (place, handlers) => {
      const address = place.address.includes(":") ? `[${place.address}]` : place.address;
      return this.#open(
        {
          ...place,
          ...handlers,
          id: ++this.#connections,
          localAddress,
          secure: this.#plan.secure,
          tls: this.#plan.tls,
          form: this.#plan.request,
          host: this.#plan.host ?? address,
          buffer: this.#buffer,
          now: this.#now,
          answered: handlers.answered ?? noteHeader,
          again: (exchange) => this.#again(exchange, handlers.again),
          sessionEnded,
        },
        named,
      );
    };
  }

  #open(options: ConnectionOptions, named: boolean): Connection {
    const path = this.#plan.paths.quick;
    switch (this.#plan.protocol) {
      case "http":
      case "https":
        return new HttpConnection({
          ...options,
          body: this.#body,
          head: ({ path, row }, keepAlive) =>
            `${this.#head(path, options.host, keepAlive)}${named ? `x-lameduck-id: ${row}\r\n` : ""}\r\n`,
        });
      case "h2":
      case "h2c":
        return new Http2Connection({ ...options, grpc: false, body: this.#body });
      case "grpc":
        return new Http2Connection({ ...options, grpc: true });
      case "ws":
        return new WebSocketConnection({ ...options, path });
      case "sse":
        return new EventStream({ ...options, path });
    }
  }

  #again(exchange: Exchange, send: (exchange: Exchange) => void): void {
    if (exchange.ended) return;
    const { record } = exchange;
    record.retries = (record.retries ?? 0) + 1;
    if (record.retries > mostRetries)
      exchange.fail({ outcome: "reset-before-response", error: "SENT_AWAY" }, this.#now());
    else send(exchange);
  }

  #head(path: string, host: string, keepAlive: boolean): string {
    const key = `${keepAlive ? "+" : "-"}${host} ${path}`;
    let head = this.#heads.get(key);
    if (head === undefined) {
      const { request } = this.#plan;
      const ours: (readonly [string, string])[] = [
        ["Host", host],
        ["User-Agent", "lameduck-load"],
        ["Accept", "*/*"],
        ["Connection", keepAlive ? "keep-alive" : "close"],
      ];
      if (this.#body) ours.push(["Content-Length", String(this.#body.length)]);
      head = headOf(request.method, path, allHeaders(ours, request));
      this.#heads.set(key, head);
    }
    return head;
  }
}

/** The sender's own choice is surer than any header; a header is for senders that did not choose. */
function noteHeader(exchange: Exchange, answer: Answer): void {
  if (exchange.record.pod !== undefined || answer.reported.pod === undefined) return;
  exchange.record.pod = answer.reported.pod;
  exchange.record.podKnownBy = "header";
}
