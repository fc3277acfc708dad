import type { ServerResponse } from "node:http";

/** A request that waits for news. */
export interface Parked {
  readonly response: ServerResponse;
  /** Milliseconds since 1970: by then it is answered in any case. */
  readonly until: number;
}

/** Requests that wait, by whom they are of. One timer looks at all of them. */
export class ParkingLot<T extends Parked> {
  readonly #all = new Map<string, Set<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  of(key: string): ReadonlySet<T> {
    return this.#all.get(key) ?? nobody;
  }

  *all(): Generator<T> {
    for (const parked of this.#all.values()) yield* parked;
  }

  /** Forgets it by itself when its connection ends. */
  add(key: string, one: T): void {
    const others = this.#all.get(key);
    if (others) others.add(one);
    else this.#all.set(key, new Set([one]));
    this.#size++;
    one.response.once("close", () => this.take(key, one));
  }

  /** @returns whether it was still there: it is answered once. */
  take(key: string, one: T): boolean {
    const parked = this.#all.get(key);
    if (!parked?.delete(one)) return false;
    this.#size--;
    if (parked.size === 0) this.#all.delete(key);
    return true;
  }
}

const nobody: ReadonlySet<never> = new Set();
