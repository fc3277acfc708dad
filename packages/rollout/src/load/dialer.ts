import { HttpConnection } from "./connection.ts";
import type { Exchange } from "./exchange.ts";
import type { ResponseReader } from "./response.ts";

/** A place to connect to; `pod` where the sender itself chose it. */
export interface Place {
  readonly pod?: string;
  readonly address: string;
  readonly port: number;
}

/** What whoever dialled does with the connection afterwards. */
export interface Handlers {
  readonly idle: (connection: HttpConnection) => void;
  readonly gone: (connection: HttpConnection) => void;
  readonly answered?: (exchange: Exchange, response: ResponseReader) => void;
}

export type Dial = (place: Place, handlers: Handlers) => HttpConnection;

/** Large enough that a burst of a streamed body takes one read. */
const bufferSize = 64 * 1024;

/** Opens the generator's connections and numbers them. */
export class Dialer {
  readonly #now: () => number;
  readonly #host: string | undefined;
  readonly #buffer = Buffer.allocUnsafe(bufferSize);
  readonly #heads = new Map<string, string>();
  #connections = 0;

  constructor(now: () => number, host: string | undefined) {
    this.#now = now;
    this.#host = host;
  }

  /** `named` requests carry their number, for a proxy's log. */
  from(localAddress: string | undefined, named: boolean): Dial {
    return (place, handlers) => {
      const host = this.#host ?? (place.address.includes(":") ? `[${place.address}]` : place.address);
      return new HttpConnection({
        id: ++this.#connections,
        pod: place.pod,
        address: place.address,
        port: place.port,
        localAddress,
        buffer: this.#buffer,
        now: this.#now,
        head: (exchange, stays) =>
          named
            ? `${this.#head(exchange.path, host, stays)}x-lameduck-id: ${exchange.row}\r\n\r\n`
            : `${this.#head(exchange.path, host, stays)}\r\n`,
        answered: handlers.answered ?? noteHeader,
        idle: handlers.idle,
        gone: handlers.gone,
      });
    };
  }

  #head(path: string, host: string, stays: boolean): string {
    const key = `${stays ? "+" : "-"}${host} ${path}`;
    let head = this.#heads.get(key);
    if (head === undefined) {
      head =
        `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: lameduck-load\r\nAccept: */*\r\n` +
        `Connection: ${stays ? "keep-alive" : "close"}\r\n`;
      this.#heads.set(key, head);
    }
    return head;
  }
}

/** The sender's own choice is surer than any header; a header is for those who did not choose. */
function noteHeader(exchange: Exchange, response: ResponseReader): void {
  if (exchange.record.pod !== undefined || response.told.pod === undefined) return;
  exchange.record.pod = response.told.pod;
  exchange.record.podKnownBy = "header";
}
