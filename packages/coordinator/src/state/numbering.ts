import { addedWithin, type Listings } from "@lameduck/cluster";
import type { TerminationRecord } from "./record.ts";
import type { Releases } from "./releases.ts";
import type { PolicySettings } from "../settings.ts";
import type { Withdrawals } from "./withdrawals.ts";

/** Gives withdrawals the numbers by which consumers report that they have let go. */
export class Numbering {
  readonly #withdrawals: Withdrawals;
  readonly #listings: Listings;
  readonly #releases: Releases;
  readonly #settings: Pick<PolicySettings, "of">;

  constructor(
    withdrawals: Withdrawals,
    listings: Listings,
    releases: Releases,
    settings: Pick<PolicySettings, "of">,
  ) {
    this.#withdrawals = withdrawals;
    this.#listings = listings;
    this.#releases = releases;
    this.#settings = settings;
  }

  /** Slices list it otherwise. */
  listed(record: TerminationRecord): void {
    record.addedBy = Math.max(record.addedBy, this.#listings.publishedAt(record) + addedWithin);
  }

  withdraw(record: TerminationRecord, now: number): void {
    record.withdrawnAt = now;
    this.number(record, now);
  }

  /**
   * Numbers a withdrawal as soon as the answers of consumers mean something. What they have said of it is over where something new leads to the
   * pod: a proxy may have let go, and add it again.
   */
  number(record: TerminationRecord, now: number): void {
    const { addresses, number, withdrawnAt, isHostNetwork, isFinished, isHeldOnly } = record;
    // The node's own address never falls out of use: other pods have it, too.
    if (withdrawnAt === undefined || isHostNetwork || isFinished) return;
    record.addedBy = Math.max(record.addedBy, this.#releases.chosenSince(record) + addedWithin);
    if (now < record.addedBy && this.#hasProxies(record)) {
      this.#forget(record);
      return;
    }
    if (number !== undefined) return;
    record.number = this.#withdrawals.add(addresses, now);
    // A held deletion is let through once consumers have let go: how long they take after a deletion does not show.
    record.isMeasured = withdrawnAt === now && !isHeldOnly;
  }

  /** The pod is not withdrawn, as far as consumers may know. */
  takeBack(record: TerminationRecord): void {
    this.#forget(record);
    record.withdrawnAt = undefined;
    record.releasedAt = undefined;
  }

  /** Consumers need not look for it any more. */
  drop({ number }: TerminationRecord): void {
    if (number !== undefined) this.#withdrawals.drop(number);
  }

  #forget(record: TerminationRecord): void {
    this.drop(record);
    record.number = undefined;
    record.isMeasured = false;
  }

  /** Clients that know its address by DNS have no rules. */
  #hasProxies(record: TerminationRecord): boolean {
    return this.#releases.hasProxies(record, this.#settings.of(record.namespace));
  }
}
