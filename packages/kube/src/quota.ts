export interface QuotaOptions<T> {
  /** Objects of one name share a quota. Those without a name are not bounded. */
  readonly of: (object: T) => string | undefined;
  readonly sizeOf: (object: T) => number;
  readonly most: number;
  /** The quota is used up: nothing is kept of this object. */
  readonly onFull: (object: T) => void;
}

/** How much is kept of the objects of each namespace: whoever may write into one must not fill the memory of all. */
export class Quota<T> {
  readonly #options: QuotaOptions<T> | undefined;
  readonly #used: Map<string, number>;

  constructor(options: QuotaOptions<T> | undefined, used: ReadonlyMap<string, number> = new Map()) {
    this.#options = options;
    this.#used = new Map(used);
  }

  copy(): Quota<T> {
    return new Quota(this.#options, this.#used);
  }

  /** @returns false where it does not fit. */
  take(object: T): boolean {
    const name = this.#options?.of(object);
    if (!this.#options || name === undefined) return true;
    const used = (this.#used.get(name) ?? 0) + this.#options.sizeOf(object);
    if (used > this.#options.most) {
      this.#options.onFull(object);
      return false;
    }
    this.#used.set(name, used);
    return true;
  }

  free(object: T): void {
    const name = this.#options?.of(object);
    if (!this.#options || name === undefined) return;
    const left = (this.#used.get(name) ?? 0) - this.#options.sizeOf(object);
    if (left > 0) this.#used.set(name, left);
    else this.#used.delete(name);
  }
}
