import type { Released, Unreleased } from "./observation.ts";

/** A new connection within this time after the release was on its way when the last consumer let go. */
const onItsWayMs = 100;

/** A release that no connection has disproved, for reports. */
export interface ActiveRelease {
  readonly at: number;
  /** From this time on the release counts as much as the silence of all senders. */
  readonly settledAt: number;
  readonly consumers: string | undefined;
  readonly last: string | undefined;
}

/** The sender of a new connection that came after all consumers said that they had let go. */
export interface Overrule {
  readonly at: number;
  readonly sender: string;
}

const nobody = { at: -Infinity, sender: "", earliest: -Infinity };

/**
 * What the cluster says of the pod's consumers. It counts once no new connection has come for `settle`. It never counts again once a connection has
 * come that was not on its way at the release: somebody still sends, whoever said otherwise.
 */
export class Release {
  readonly #settle: number;
  #given: Released | undefined;
  /** The latest time at which any connection can have come. */
  #latest = -Infinity;
  /** The connection that most surely came late. A connection came between `at - earlier` and `at`, and this one has the latest `at - earlier`. */
  #surest = nobody;
  #overruled: Overrule | undefined;
  #isLocal = false;
  #assumedUntil = -Infinity;

  constructor(settle: number) {
    this.#settle = settle;
  }

  /** Of several releases the first one counts. */
  given(release: Released): void {
    this.#isLocal = false;
    this.#given ??= release;
    this.#compare();
  }

  withdrawn({ at, local = false, assumed = 0 }: Unreleased): void {
    this.#isLocal = local;
    this.#given = undefined;
    this.#assumedUntil = Math.max(this.#assumedUntil, at + assumed);
  }

  /** @param earlier the connection came between `at - earlier` and `at`. */
  connection(sender: string, at: number, earlier = 0): void {
    this.#latest = Math.max(this.#latest, at);
    if (at - earlier >= this.#surest.earliest) this.#surest = { at, sender, earliest: at - earlier };
    this.#compare();
  }

  #compare(): void {
    const { at, sender, earliest } = this.#surest;
    if (this.#given && earliest > this.#given.at + onItsWayMs) this.#overruled ??= { at, sender };
  }

  /** Nobody will release the pod: its own evidence decides. */
  get isLocal(): boolean {
    return this.#isLocal;
  }

  /** Until then senders that nobody asks may choose the pod, unless it is released. The latest that was said counts. */
  get assumedUntil(): number {
    return Math.min(this.#assumedUntil, this.settledAt);
  }

  get overruled(): Overrule | undefined {
    return this.#overruled;
  }

  get active(): ActiveRelease | undefined {
    if (!this.#given || this.#overruled) return undefined;
    const { at, consumers, last } = this.#given;
    return { at, settledAt: Math.max(at, this.#latest) + this.#settle, consumers, last };
  }

  get settledAt(): number {
    return this.active?.settledAt ?? Infinity;
  }
}
