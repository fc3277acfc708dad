import type { Connection } from "../protocols/connection.ts";
import type { Dial } from "../protocols/dialer.ts";
import type { Exchange } from "../protocols/exchange.ts";
import type { Endpoint } from "@lameduck/accounting";
import { Pool } from "./pool.ts";

/** A keep-alive pool for each pod, for senders that choose the pod for each request. */
export class PodPools {
  readonly #dial: Dial;
  readonly #shared: number | undefined;
  readonly #again: (exchange: Exchange) => void;
  readonly #pools = new Map<string, { readonly pool: Pool; readonly all: Set<Connection> }>();

  /** `again` chooses anew for a request that a pod has sent away. */
  constructor(options: {
    readonly dial: Dial;
    /** Connections to each pod that requests share; undefined where each is for one request at a time. */
    readonly shared: number | undefined;
    readonly again: (exchange: Exchange) => void;
  }) {
    this.#dial = options.dial;
    this.#shared = options.shared;
    this.#again = options.again;
  }

  send(exchange: Exchange, endpoint: Endpoint): void {
    const kept = exchange.mode === "pooled" ? this.#pools.get(endpoint.pod)?.pool.take() : undefined;
    (kept ?? this.#open(endpoint, exchange)).send(exchange);
  }

  /** Closes a pod's connections, each as soon as it is idle. */
  drop(pod: string): void {
    const known = this.#pools.get(pod);
    if (!known) return;
    this.#pools.delete(pod);
    for (const connection of known.all) connection.retire();
  }

  dropAll(): void {
    for (const pod of this.#pools.keys()) this.drop(pod);
  }

  #open(endpoint: Endpoint, { mode }: Exchange): Connection {
    let known = this.#pools.get(endpoint.pod);
    if (!known) this.#pools.set(endpoint.pod, (known = { pool: new Pool(this.#shared), all: new Set() }));
    const { pool, all } = known;
    const connection = this.#dial(endpoint, {
      idle: (free) => pool.freed(free),
      gone: (ended) => {
        all.delete(ended);
        pool.remove(ended);
      },
      again: this.#again,
    });
    all.add(connection);
    if (mode === "pooled") pool.opened(connection);
    return connection;
  }
}
