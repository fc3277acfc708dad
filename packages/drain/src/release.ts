import type { Released, Unreleased } from "./observation.ts";

/** A new connection so long after the release, ms, was on its way when the last consumer let go. */
const onItsWay = 100;

/** A release that stands, for reports. */
export interface Standing {
  readonly at: number;
  /** From then on it says as much as the silence of all senders. */
  readonly settledAt: number;
  readonly consumers: string | undefined;
  readonly last: string | undefined;
}

/** Who made a new connection after all consumers had let go, as they said. */
export interface Overrule {
  readonly at: number;
  readonly sender: string;
}

/**
 * What the cluster says of the pod's consumers. It counts as evidence once no new connection has come for `settle` since, and never again once one has
 * come later than what was on its way: somebody still sends, whoever said otherwise.
 */
export class Release {
  readonly #settle: number;
  #given: Released | undefined;
  #last: Overrule = { at: -Infinity, sender: "" };
  #overruled: Overrule | undefined;
  #isLocal = false;

  constructor(settle: number) {
    this.#settle = settle;
  }

  /** Said twice, the first counts. */
  given(release: Released): void {
    this.#isLocal = false;
    this.#given ??= release;
    this.#compare();
  }

  withdrawn({ local = false }: Unreleased): void {
    this.#isLocal = local;
    this.#given = undefined;
  }

  connection(sender: string, at: number): void {
    if (at >= this.#last.at) this.#last = { at, sender };
    this.#compare();
  }

  #compare(): void {
    if (this.#given && this.#last.at > this.#given.at + onItsWay) this.#overruled ??= this.#last;
  }

  /** Nobody will release the pod: what it sees itself decides. */
  get isLocal(): boolean {
    return this.#isLocal;
  }

  get overruled(): Overrule | undefined {
    return this.#overruled;
  }

  get standing(): Standing | undefined {
    if (!this.#given || this.#overruled) return undefined;
    const { at, consumers, last } = this.#given;
    return { at, settledAt: Math.max(at, this.#last.at) + this.#settle, consumers, last };
  }

  get settledAt(): number {
    return this.standing?.settledAt ?? Infinity;
  }
}
