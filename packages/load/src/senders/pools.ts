import type { Endpoint } from "@lameduck/accounting";
import type { SenderContext } from "../generator/sender.ts";
import type { Exchange } from "../protocols/exchange.ts";
import { refuse } from "./chooser.ts";
import { Pool } from "./pool.ts";

/** A keep-alive pool for each pod, for senders that choose the pod for each request. */
export class PodPools {
  readonly #context: SenderContext;
  readonly #chosen: () => readonly Endpoint[];
  readonly #pools = new Map<string, Pool>();

  /** @param chosen the endpoints to choose from at present */
  constructor(context: SenderContext, chosen: () => readonly Endpoint[]) {
    this.#context = context;
    this.#chosen = chosen;
  }

  send(exchange: Exchange): void {
    const { now, random, dial, shared } = this.#context;
    const chosen = this.#chosen();
    if (chosen.length === 0) return refuse(exchange, now());
    const endpoint = random.pick(chosen);
    const known = this.#pools.get(endpoint.pod);
    const pool = known ?? new Pool(dial, shared?.pod, { again: (sentAway) => this.send(sentAway) });
    this.#pools.set(endpoint.pod, pool);
    (pool.take(exchange) ?? pool.open(endpoint, exchange)).send(exchange);
  }

  drop(pod: string): void {
    const pool = this.#pools.get(pod);
    this.#pools.delete(pod);
    pool?.retire();
  }

  dropAll(): void {
    for (const pod of this.#pools.keys()) this.drop(pod);
  }
}
