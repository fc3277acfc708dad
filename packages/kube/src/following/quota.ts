export interface QuotaOptions<T> {
  /** Objects of one name share a quota. Those without a name are not bounded. */
  readonly of: (object: T) => string | undefined;
  readonly sizeOf: (object: T) => number;
  readonly most: number;
  /** The quota is used up: nothing is kept of this object. */
  readonly onFull: (object: T) => void;
  /** Everything has been listed anew. These are all names of which something is left out. */
  readonly onListed?: (full: ReadonlySet<string>) => void;
}

/** How much is kept of the objects of each namespace: a writer of one namespace must not fill the memory. */
export class Quota<T> {
  readonly #options: QuotaOptions<T> | undefined;
  readonly #used: Map<string, number>;
  /** By name: the size of the smallest object that is left out. */
  readonly #leftOut: Map<string, number>;
  #hasNews = false;

  constructor(
    options: QuotaOptions<T> | undefined,
    used: ReadonlyMap<string, number> = new Map(),
    leftOut: ReadonlyMap<string, number> = new Map(),
  ) {
    this.#options = options;
    this.#used = new Map(used);
    this.#leftOut = new Map(leftOut);
  }

  copy(): Quota<T> {
    return new Quota(this.#options, this.#used, this.#leftOut);
  }

  /** Names of which something is left out. */
  get full(): ReadonlySet<string> {
    return new Set(this.#leftOut.keys());
  }

  /** Something that is left out may be gone, or fit by now: only a new list tells. */
  get isOutdated(): boolean {
    const { most = 0 } = this.#options ?? {};
    return (
      this.#hasNews || [...this.#leftOut].some(([name, size]) => (this.#used.get(name) ?? 0) + size <= most)
    );
  }

  /** @returns false where it does not fit. */
  take(object: T): boolean {
    const name = this.#options?.of(object);
    if (!this.#options || name === undefined) return true;
    const size = this.#options.sizeOf(object);
    const used = (this.#used.get(name) ?? 0) + size;
    if (used > this.#options.most) {
      this.#leftOut.set(name, Math.min(size, this.#leftOut.get(name) ?? Infinity));
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

  /** An object that was not kept is gone, or fits. It may have been left out before. */
  newsOfUnknown(object: T): void {
    const name = this.#options?.of(object);
    if (name !== undefined && this.#leftOut.has(name)) this.#hasNews = true;
  }
}
