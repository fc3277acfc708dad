import type { Answer } from "../answer.ts";
import type { Connection } from "../protocols/connection.ts";
import type { Place } from "../protocols/dialer.ts";
import type { Exchange } from "../protocols/exchange.ts";
import type { LoadSender, SenderContext } from "../generator/sender.ts";
import type { Change } from "./view.ts";
import { Pool } from "./pool.ts";

/** The callers in front of a proxy: the proxy chooses the pod and names it in a header. */
export class ProxyCaller implements LoadSender {
  readonly #context: SenderContext;
  readonly #place: Place;
  readonly #pool = new Pool(undefined);
  readonly #all = new Set<Connection>();
  readonly #pods = new Map<string, string>();

  readonly #notesClaims: boolean;

  constructor(context: SenderContext, place: Place & { readonly notesClaims?: boolean }) {
    this.#context = context;
    this.#notesClaims = place.notesClaims ?? false;
    this.#place = { address: place.address, port: place.port };
  }

  send(exchange: Exchange): void {
    const kept = exchange.mode === "pooled" ? this.#pool.take() : undefined;
    (kept ?? this.#dial()).send(exchange);
  }

  /** The proxy learns by itself; this only maps addresses to names, for proxies that report no names. */
  learn({ state: { endpoint } }: Change): void {
    this.#pods.set(`${endpoint.address}:${endpoint.port}`, endpoint.pod);
  }

  stop(): void {
    for (const connection of this.#all) connection.retire();
  }

  #dial(): Connection {
    const connection = this.#context.dial(this.#place, {
      idle: (free) => this.#pool.freed(free),
      gone: (ended) => {
        this.#all.delete(ended);
        this.#pool.remove(ended);
      },
      again: (exchange) => this.send(exchange),
      answered: (exchange, response) => this.#note(exchange, response),
    });
    this.#all.add(connection);
    return connection;
  }

  #note({ record }: Exchange, { reported }: Answer): void {
    const upstream = reported.upstream === undefined ? undefined : this.#podOf(reported.upstream);
    const claim = this.#notesClaims && reported.claim !== undefined ? this.#podOf(reported.claim) : undefined;
    record.pod = reported.pod ?? upstream ?? claim;
    if (record.pod !== undefined)
      record.podKnownBy =
        (reported.pod ?? (upstream === undefined ? claim : undefined)) === undefined ? "proxy" : "header";
    record.retries = reported.retries;
    // Where the proxy failed, its own connection to the pod is what matters, and its report is about that one.
    if (reported.error !== undefined) {
      record.error = reported.error;
      if (reported.reused !== undefined) record.reused = reported.reused;
      if (reported.connected !== undefined) record.connected = reported.connected;
    }
  }

  /** nginx lists every server's address it tried, the last one answered; HAProxy's servers have the pod's name and a number. */
  #podOf(upstream: string): string | undefined {
    const last = upstream.split(/[,:] /).at(-1)?.trim() ?? "";
    return last === "" ? undefined : (this.#pods.get(last) ?? last.replace(/:\d+$/, ""));
  }
}
