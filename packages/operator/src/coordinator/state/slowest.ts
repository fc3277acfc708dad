import type { TerminationConsumer } from "../termination.ts";

type Make = () => readonly [string, TerminationConsumer];

/** The consumers that let go last, or have not, out of thousands: the others are never made. */
export class Slowest {
  readonly #most: number;
  #kept: { readonly at: number; readonly make: Make }[] = [];
  /** Who let go before this is none of them. */
  #from = -Infinity;
  #behind = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** So many have not let go that nobody who follows can be slower. */
  get isSettled(): boolean {
    return this.#behind >= this.#most;
  }

  offer(appliedAt: number | undefined, make: Make): void {
    const at = appliedAt ?? Infinity;
    if (at <= this.#from) return;
    if (at === Infinity) this.#behind++;
    this.#kept.push({ at, make });
    if (this.#kept.length >= 2 * this.#most) this.#trim();
  }

  /** The slowest first; of equals those that came first. */
  get named(): ReadonlyMap<string, TerminationConsumer> {
    this.#trim();
    return new Map(this.#kept.map(({ make }) => make()));
  }

  #trim(): void {
    // Two Infinities have no difference.
    this.#kept.sort((a, b) => (a.at === b.at ? 0 : b.at - a.at));
    this.#kept = this.#kept.slice(0, this.#most);
    if (this.#kept.length === this.#most) this.#from = this.#kept.at(-1)?.at ?? -Infinity;
  }
}
