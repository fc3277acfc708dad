/** Addresses that count as used until what is read has not used them for some time: where what is read is ahead of what sends. */
export class UnusedFor {
  readonly #leastMs: number;
  readonly #now: () => number;
  /** When each was first read as unused, since it was last read as used. */
  #since = new Map<string, number>();

  constructor(leastMs: number, now: () => number = () => performance.now()) {
    this.#leastMs = leastMs;
    this.#now = now;
  }

  /** @param addresses those that are asked about; others are forgotten. */
  usedOf(addresses: readonly string[], used: ReadonlySet<string>): ReadonlySet<string> {
    const now = this.#now();
    const unused = addresses.filter((address) => !used.has(address));
    this.#since = new Map(unused.map((address) => [address, this.#since.get(address) ?? now]));
    return new Set(addresses.filter((one) => now - (this.#since.get(one) ?? now) < this.#leastMs));
  }
}
