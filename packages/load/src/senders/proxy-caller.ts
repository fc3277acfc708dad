import type { Answer } from "../answer.ts";
import type { Place } from "../protocols/socket.ts";
import type { Exchange } from "../protocols/exchange.ts";
import type { LoadSender, SenderContext } from "./sender.ts";
import type { Change } from "./view.ts";
import { Pool } from "./pool.ts";

/** The callers in front of a proxy: the proxy chooses the pod and names it in a header. */
export class ProxyCaller implements LoadSender {
  readonly #place: Place;
  readonly #pool: Pool;
  readonly #pods = new Map<string, string>();
  readonly #notesClaims: boolean;

  constructor({ dial }: SenderContext, place: Place & { readonly notesClaims?: boolean }) {
    this.#notesClaims = place.notesClaims ?? false;
    this.#place = { address: place.address, port: place.port };
    this.#pool = new Pool(dial, undefined, {
      again: (exchange) => this.send(exchange),
      answered: (exchange, response) => this.#note(exchange, response),
    });
  }

  send(exchange: Exchange): void {
    (this.#pool.take(exchange) ?? this.#pool.open(this.#place, exchange)).send(exchange);
  }

  /** The proxy learns by itself; this only maps addresses to names, for proxies that report no names. */
  learn({ state: { endpoint } }: Change): void {
    this.#pods.set(`${endpoint.address}:${endpoint.port}`, endpoint.pod);
  }

  stop(): void {
    this.#pool.retire();
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
