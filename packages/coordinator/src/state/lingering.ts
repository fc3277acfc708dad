import type { TerminationRecord } from "./record.ts";

/** Milliseconds from the end of all containers until the object counts as one that stays: the kubelet removes it within a second or two. */
const lingersAfter = 10_000;

/** Pods whose containers have ended while their object is still there. */
export class Lingering {
  readonly #finishedAt = new Map<TerminationRecord, number>();

  get size(): number {
    return this.#finishedAt.size;
  }

  finished(record: TerminationRecord, now: number): void {
    this.#finishedAt.set(record, now);
  }

  forget(record: TerminationRecord): void {
    this.#finishedAt.delete(record);
  }

  /** Those that have been there for so long that something else than the kubelet keeps them. Each is named once. */
  take(now: number): readonly TerminationRecord[] {
    const due = [...this.#finishedAt].flatMap(([record, at]) => (now - at > lingersAfter ? [record] : []));
    for (const record of due) this.#finishedAt.delete(record);
    return due.filter(({ isHeldOnly }) => !isHeldOnly);
  }
}
