import type { NamedConsumers, TerminationConsumer } from "../termination-view.ts";

type Make = () => readonly [string, TerminationConsumer];

/** Keeps the consumers that let go last, or have not, out of thousands. Entries for the others are never made. */
export class SlowestConsumers {
  readonly #most: number;
  #kept: { readonly at: number; readonly make: Make }[] = [];
  /** A consumer that let go before this time is not one of the slowest. */
  #from = -Infinity;
  #behind = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** As many as are kept have not let go: no later one can be slower. */
  get isFinal(): boolean {
    return this.#behind >= this.#most;
  }

  offer(appliedAt: number | undefined, make: Make): void {
    const at = appliedAt ?? Infinity;
    if (at <= this.#from) return;
    if (at === Infinity) this.#behind++;
    this.#kept.push({ at, make });
    if (this.#kept.length >= 2 * this.#most) this.#trim();
  }

  /** The slowest first; equal ones in the order in which they were offered. */
  get named(): NamedConsumers {
    this.#trim();
    return new Map(this.#kept.map(({ make }) => make()));
  }

  #trim(): void {
    // Infinity - Infinity is no number.
    this.#kept.sort((a, b) => (a.at === b.at ? 0 : b.at - a.at));
    this.#kept = this.#kept.slice(0, this.#most);
    if (this.#kept.length === this.#most) this.#from = this.#kept.at(-1)?.at ?? -Infinity;
  }
}
