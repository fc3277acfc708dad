/** Limits a rate: so many a second, after a first burst. */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #now: () => number;
  #left: number;
  #at: number;

  constructor(perSecond: number, burst: number, now: () => number = () => performance.now()) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#now = now;
    this.#left = burst;
    this.#at = now();
  }

  /** Takes a token. @returns 0, or the milliseconds until there is one. */
  take(): number {
    const now = this.#now();
    this.#left = Math.min(this.#burst, this.#left + ((now - this.#at) / 1_000) * this.#perSecond);
    this.#at = now;
    if (this.#left < 1) return Math.ceil(((1 - this.#left) / this.#perSecond) * 1_000);
    this.#left -= 1;
    return 0;
  }
}
