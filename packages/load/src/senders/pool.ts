import type { Endpoint } from "@lameduck/accounting";
import type { Connection } from "../protocols/connection.ts";
import type { Dial, Handlers } from "../protocols/dialer.ts";
import type { Exchange } from "../protocols/exchange.ts";
import type { Place } from "../protocols/socket.ts";
import { refuse } from "./chooser.ts";
import type { SenderContext } from "./sender.ts";

/**
 * The connections of a sender to one place, or to one Service, and those among them that are to be used again: each by one request at a
 * time, or, where the protocol lets requests share them, so many of them by all requests in turn.
 */
export class Pool {
  readonly #dial: Dial;
  /** How many are shared; undefined where each is for one request at a time. */
  readonly #shared: number | undefined;
  readonly #handlers: Pick<Handlers, "again" | "answered">;
  readonly #all = new Set<Connection>();
  readonly #free: Connection[] = [];
  #turn = 0;

  constructor(dial: Dial, shared: number | undefined, handlers: Pick<Handlers, "again" | "answered">) {
    this.#dial = dial;
    this.#shared = shared;
    this.#handlers = handlers;
  }

  /** @returns undefined where a new connection is to be opened. */
  take({ mode }: Exchange): Connection | undefined {
    if (mode === "new") return undefined;
    return this.#shared === undefined ? this.#takeLast() : this.#takeTurn(this.#shared);
  }

  /** A shared connection is there for others from the beginning, any other one when it carries nothing any more. */
  open(place: Place, { mode }: Exchange): Connection {
    const isShared = this.#shared !== undefined;
    const connection = this.#dial(place, {
      ...this.#handlers,
      idle: (free) => {
        if (!isShared) this.#free.push(free);
      },
      gone: (ended) => {
        this.#all.delete(ended);
        this.#remove(ended);
      },
    });
    this.#all.add(connection);
    if (isShared && mode === "pooled") this.#free.push(connection);
    return connection;
  }

  to(pod: string): Connection[] {
    return [...this.#all].filter((connection) => connection.pod === pod);
  }

  /** Closes all, each as soon as it is idle. */
  retire(): void {
    for (const connection of this.#all) connection.retire();
  }

  #remove(connection: Connection): void {
    const at = this.#free.lastIndexOf(connection);
    if (at !== -1) this.#free.splice(at, 1);
  }

  /** The connection used last: pools that do so shrink to what they need. */
  #takeLast(): Connection | undefined {
    for (let kept = this.#free.pop(); kept; kept = this.#free.pop()) {
      if (kept.reusable) return kept;
      kept.retire();
    }
    return undefined;
  }

  #takeTurn(most: number): Connection | undefined {
    // Connections that the server has asked to leave end by themselves after their last request.
    for (const spent of this.#free.filter((one) => !one.reusable)) this.#remove(spent);
    return this.#free.length < most ? undefined : this.#free[this.#turn++ % this.#free.length];
  }
}

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
