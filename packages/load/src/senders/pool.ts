import type { Connection } from "../protocols/connection.ts";

/**
 * Connections to be used again: each by one request at a time, or, where the protocol lets requests share them, so many of them by all
 * requests in turn.
 */
export class Pool {
  /** How many are shared; undefined where each is for one request at a time. */
  readonly #shared: number | undefined;
  readonly #free: Connection[] = [];
  #turn = 0;

  constructor(shared: number | undefined) {
    this.#shared = shared;
  }

  /** @returns undefined where a new connection is to be opened. */
  take(): Connection | undefined {
    return this.#shared === undefined ? this.#takeLast() : this.#takeTurn(this.#shared);
  }

  /** A new connection for pooled requests: shared from the first one on. */
  opened(connection: Connection): void {
    if (this.#shared !== undefined) this.#free.push(connection);
  }

  /** It carries nothing any more. */
  freed(connection: Connection): void {
    if (this.#shared === undefined) this.#free.push(connection);
  }

  remove(connection: Connection): void {
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
    // Those that the server has asked to leave end by themselves when what is on them has ended.
    for (const spent of this.#free.filter((one) => !one.reusable)) this.remove(spent);
    return this.#free.length < most ? undefined : this.#free[this.#turn++ % this.#free.length];
  }
}
