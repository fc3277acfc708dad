import type { Random } from "../kernel/random.ts";
import { draw, type Distribution } from "@lameduck/load/propagation";
import type { PooledTraffic } from "./scenario.ts";
import type { PooledRequest } from "./trace.ts";

/** Requests on all kept-alive connections of a pod from its deletion on, in order of time, without end. */
export function* drawPooledRequests(
  { connections, perPod }: PooledTraffic,
  senders: number,
  service: Distribution,
  random: Random,
): Generator<PooledRequest, undefined> {
  if (perPod <= 0) return undefined;
  for (let at = 0; ;) {
    at += random.exponential(1_000 / perPod);
    const sender = random.below(senders);
    const connection = random.below(connections);
    yield { at, sender, connection, duration: draw(service, random) };
  }
}

/** One pod's kept-alive connections: which are open, and how many requests each has made since SIGTERM. */
export class Pools {
  readonly size: number;
  readonly #connections: number;
  readonly #requests: Uint32Array;
  readonly #closed: Uint8Array;
  /** Part of the ramp after which each is asked to leave. */
  readonly #turns: Float64Array;
  #open: number;

  constructor(senders: number, connections: number, random: Random) {
    this.size = senders * connections;
    this.#connections = connections;
    this.#requests = new Uint32Array(this.size);
    this.#closed = new Uint8Array(this.size);
    this.#turns = Float64Array.from({ length: this.size }, () => random.uniform());
    this.#open = this.size;
  }

  get open(): number {
    return this.#open;
  }

  has({ sender, connection }: PooledRequest): boolean {
    return this.#closed[this.#index(sender, connection)] === 0;
  }

  count({ sender, connection }: PooledRequest): void {
    this.#requests[this.#index(sender, connection)]!++;
  }

  turnOf({ sender, connection }: PooledRequest): number {
    return this.#turns[this.#index(sender, connection)]!;
  }

  /** @returns the requests that it has made since SIGTERM. */
  close({ sender, connection }: PooledRequest): number {
    const index = this.#index(sender, connection);
    this.#closed[index] = 1;
    this.#open--;
    return this.#requests[index]!;
  }

  closeAll(): void {
    this.#closed.fill(1);
    this.#open = 0;
  }

  #index(sender: number, connection: number): number {
    return sender * this.#connections + connection;
  }
}
