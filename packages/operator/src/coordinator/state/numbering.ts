import type { Listings } from "./listings.ts";
import type { TerminationRecord } from "./record.ts";
import type { Withdrawals } from "./withdrawals.ts";

/**
 * Milliseconds after its publication until a pod that is not in a proxy's rules is one that the proxy has let go of. Earlier the proxy may not have
 * added it yet, and may do so after it was withdrawn. That happens in two ways: the proxy's watch lags, so that it hears of each change later, but in
 * the same order; or a sync that began before the withdrawal is not written yet. A proxy that only syncs seldom adds nothing: a sync writes the newest
 * state, and a pod that came and went between two of them is never in its rules. No rule shows which of these it is, so time decides.
 */
export const addedWithin = 10_000;

/** Gives withdrawals the numbers by which consumers report that they have let go. */
export class Numbering {
  readonly #withdrawals: Withdrawals;
  readonly #listings: Listings;
  readonly #hasProxies: (record: TerminationRecord) => boolean;

  /** @param hasProxies whether proxies lead to the pod: clients that know its address by DNS have no rules. */
  constructor(
    withdrawals: Withdrawals,
    listings: Listings,
    hasProxies: (record: TerminationRecord) => boolean,
  ) {
    this.#withdrawals = withdrawals;
    this.#listings = listings;
    this.#hasProxies = hasProxies;
  }

  withdraw(record: TerminationRecord, now: number): void {
    record.withdrawnAt = now;
    record.addedBy = Math.max(record.addedBy, this.#listings.publishedAt(record) + addedWithin);
    this.number(record, now);
  }

  /** Numbers a withdrawal that has no number, as soon as the answers of consumers mean something. */
  number(record: TerminationRecord, now: number): void {
    const { addresses, number, withdrawnAt, addedBy, isHostNetwork, isFinished, isHeldOnly } = record;
    if (withdrawnAt === undefined || number !== undefined) return;
    // The node's own address never falls out of use: other pods have it, too.
    if (isHostNetwork || isFinished) return;
    if (now < addedBy && this.#hasProxies(record)) return;
    record.number = this.#withdrawals.add(addresses, now);
    // A held deletion is let through once consumers have let go: how long they take after a deletion does not show.
    record.isMeasured = withdrawnAt === now && !isHeldOnly;
  }

  /** Proxies choose the pod again, although it is not published as ready. */
  chosenAgain(record: TerminationRecord, now: number): void {
    record.addedBy = now + addedWithin;
  }

  /** The pod is not withdrawn, as far as consumers may know. */
  takeBack(record: TerminationRecord): void {
    this.drop(record);
    record.number = undefined;
    record.withdrawnAt = undefined;
    record.isMeasured = false;
    record.releasedAt = undefined;
  }

  /** Consumers need not look for it any more. */
  drop({ number }: TerminationRecord): void {
    if (number !== undefined) this.#withdrawals.drop(number);
  }
}
