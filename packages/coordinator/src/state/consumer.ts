import type { Basis, ConsumerState, NumberRange } from "@lameduck/protocol";

/** What a consumer says of itself, with the name by which it reports. */
export interface NamedState extends ConsumerState {
  readonly name: string;
}

/** Advances of a watermark whose times are remembered. */
const remembered = 240;

/** A sender to pods, as its reports describe it. */
export class Consumer {
  readonly key: string;
  readonly kind: string;
  node: string | undefined;
  basis: Basis;
  serves: readonly string[];
  problem: string | undefined;
  reason: string | undefined;
  heardAt: number;
  /** Since when its reports count. */
  since: number;
  #applied = 0;
  #also: readonly NumberRange[] = [];
  /** Watermarks and times in turn: two numbers for each advance. */
  #advances: number[] = [];

  constructor({ kind, name, node, basis, serves }: NamedState, now: number) {
    this.key = `${kind}/${name}`;
    this.kind = kind;
    this.node = node;
    this.basis = basis;
    this.serves = serves;
    this.heardAt = now;
    this.since = now;
  }

  get applied(): number {
    return this.#applied;
  }

  /**
   * The watermark never falls, because two requests of one consumer may arrive out of order.
   * @returns whether it has advanced.
   */
  report({ node, basis, serves, problem, reason, applied, also }: NamedState, now: number): boolean {
    this.heardAt = now;
    this.node = node;
    this.basis = basis;
    this.serves = serves;
    this.problem = problem;
    this.reason = reason;
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

  /** Its process has restarted: earlier reports no longer count. */
  reset(now: number): void {
    this.since = now;
    this.#applied = 0;
    this.#also = [];
    this.#advances = [];
  }

  hasApplied(sequence: number): boolean {
    return (
      sequence <= this.#applied ||
      (this.#also.length > 0 && this.#also.some(([from, to]) => sequence >= from && sequence <= to))
    );
  }

  /** When the report of that withdrawal came. For older ones: the oldest time that is kept. */
  appliedAt(sequence: number): number | undefined {
    if (!this.hasApplied(sequence)) return undefined;
    const all = this.#advances;
    let [low, high] = [0, all.length / 2];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((all[2 * middle] ?? 0) >= sequence) high = middle;
      else low = middle + 1;
    }
    return all[2 * low + 1] ?? this.heardAt;
  }
}
