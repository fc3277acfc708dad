import type { Basis } from "../termination.ts";

/** Inclusive ranges of numbers. */
export type Ranges = readonly (readonly [number, number])[];

/** What a consumer says of itself with each report. */
export interface Report {
  readonly name: string;
  readonly kind: string;
  readonly node: string | undefined;
  readonly basis: Basis;
  /** Everything that was withdrawn up to it is applied here. */
  readonly applied: number;
  /** Applied, too, although something before it is not. */
  readonly also: Ranges;
  /** What it leads to: "ingress-class/NAME" and the like; by its kind where it does not say. */
  readonly serves: readonly string[];
  readonly problem: string | undefined;
}

/** Advances of a watermark whose times are remembered. */
const remembered = 240;

/** Whoever sends to pods, by what it reports. */
export class Consumer {
  readonly key: string;
  readonly kind: string;
  readonly name: string;
  readonly since: number;
  node: string | undefined;
  basis: Basis;
  serves: readonly string[];
  problem: string | undefined;
  heardAt: number;
  #applied = 0;
  #also: Ranges = [];
  /** Watermark and time by turns: two numbers for each advance. */
  #advances: number[] = [];

  constructor({ kind, name, node, basis, serves }: Report, now: number) {
    this.key = `${kind}/${name}`;
    this.kind = kind;
    this.name = name;
    this.node = node;
    this.basis = basis;
    this.serves = serves;
    this.since = now;
    this.heardAt = now;
  }

  get applied(): number {
    return this.#applied;
  }

  get also(): Ranges {
    return this.#also;
  }

  /**
   * The watermark never falls: two requests of one consumer may overtake each other.
   * @returns whether it has come further.
   */
  report({ node, basis, serves, problem, applied, also }: Report, now: number): boolean {
    this.heardAt = now;
    this.node = node;
    this.basis = basis;
    this.serves = serves;
    this.problem = problem;
    if (applied < this.#applied) return false;
    const isFurther = applied > this.#applied || also.length > 0;
    if (applied > this.#applied) {
      this.#advances.push(applied, now);
      if (this.#advances.length > 4 * remembered) this.#advances = this.#advances.slice(-2 * remembered);
    }
    this.#applied = applied;
    this.#also = also;
    return isFurther;
  }

  /** Its process is another one: what the one before has seen counts no longer. */
  beginAnew(): void {
    this.#applied = 0;
    this.#also = [];
    this.#advances = [];
  }

  hasApplied(number: number): boolean {
    return (
      number <= this.#applied ||
      (this.#also.length > 0 && this.#also.some(([from, to]) => number >= from && number <= to))
    );
  }

  /** When the report came; the last time that is known where it came before those that are remembered. */
  appliedAt(number: number): number | undefined {
    if (!this.hasApplied(number)) return undefined;
    const all = this.#advances;
    let [low, high] = [0, all.length / 2];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((all[2 * middle] ?? 0) >= number) high = middle;
      else low = middle + 1;
    }
    return all[2 * low + 1] ?? this.heardAt;
  }
}
