import type { HttpConnection } from "../../load/connection.ts";
import type { Dial } from "../../load/dialer.ts";
import type { Exchange } from "../../load/exchange.ts";
import type { Endpoint } from "../../model/endpoints.ts";

/** A keep-alive pool for each pod, for senders that choose the pod for each request. */
export class PodPools {
  readonly #dial: Dial;
  readonly #pools = new Map<string, { readonly idle: HttpConnection[]; readonly all: Set<HttpConnection> }>();

  constructor(dial: Dial) {
    this.#dial = dial;
  }

  send(exchange: Exchange, endpoint: Endpoint): void {
    const kept = exchange.mode === "pooled" ? this.#kept(endpoint.pod) : undefined;
    (kept ?? this.#open(endpoint)).send(exchange);
  }

  /** Closes a pod's connections, each as soon as it is idle. */
  drop(pod: string): void {
    const pool = this.#pools.get(pod);
    if (!pool) return;
    this.#pools.delete(pod);
    for (const connection of pool.all) connection.retire();
  }

  dropAll(): void {
    for (const pod of this.#pools.keys()) this.drop(pod);
  }

  #kept(pod: string): HttpConnection | undefined {
    const idle = this.#pools.get(pod)?.idle ?? [];
    for (let kept = idle.pop(); kept; kept = idle.pop()) {
      if (kept.reusable) return kept;
      kept.retire();
    }
    return undefined;
  }

  #open(endpoint: Endpoint): HttpConnection {
    let pool = this.#pools.get(endpoint.pod);
    if (!pool) this.#pools.set(endpoint.pod, (pool = { idle: [], all: new Set() }));
    const { idle, all } = pool;
    const connection = this.#dial(endpoint, {
      idle: (free) => idle.push(free),
      gone: (ended) => {
        all.delete(ended);
        const at = idle.lastIndexOf(ended);
        if (at !== -1) idle.splice(at, 1);
      },
    });
    all.add(connection);
    return connection;
  }
}
