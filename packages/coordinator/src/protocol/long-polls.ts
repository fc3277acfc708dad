/** Waiting requests by client. One timer serves all of them. */
export class LongPolls<T> {
  readonly #all = new Map<string, Set<T>>();

  get size(): number {
    return [...this.all()].length;
  }

  of(key: string): ReadonlySet<T> {
    return this.#all.get(key) ?? nobody;
  }

  *all(): Generator<T> {
    for (const parked of this.#all.values()) yield* parked;
  }

  /** Adds a request. Who adds it takes it when its connection ends. */
  add(key: string, one: T): void {
    const others = this.#all.get(key);
    if (others) others.add(one);
    else this.#all.set(key, new Set([one]));
  }

  /** Removes a request. @returns false where it had been answered already. */
  take(key: string, one: T): boolean {
    const parked = this.#all.get(key);
    if (!parked?.delete(one)) return false;
    if (parked.size === 0) this.#all.delete(key);
    return true;
  }
}

const nobody: ReadonlySet<never> = new Set();
