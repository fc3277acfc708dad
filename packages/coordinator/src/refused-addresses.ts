import { isLoopback } from "@lameduck/program";

const windowMs = 10_000;
/** Refused tokens of one address in that time. A watcher needs one token, and a new one when that expires. */
const mostRefused = 30;
const mostAddresses = 10_000;

/** Addresses that sent too many invalid tokens. The API server is not asked about further ones for a while. */
export class RefusedAddresses {
  readonly #now: () => number;
  readonly #refused = new Map<string, { count: number; readonly until: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  isBlocked(address: string): boolean {
    const known = this.#refused.get(address);
    return known !== undefined && known.until > this.#now() && known.count >= mostRefused;
  }

  countRefusal(address: string): void {
    if (isLoopback(address)) return;
    const known = this.#refused.get(address);
    if (known && known.until > this.#now()) {
      known.count++;
      return;
    }
    this.#refused.delete(address);
    this.#refused.set(address, { count: 1, until: this.#now() + windowMs });
    const [oldest] = this.#refused.keys();
    if (this.#refused.size > mostAddresses && oldest !== undefined) this.#refused.delete(oldest);
  }
}
