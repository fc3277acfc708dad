import { mostRanges, type NumberRange, type Withdrawal } from "@lameduck/protocol";

/** How far a consumer has come. */
export interface Progress {
  readonly applied: number;
  /** Applied ranges above `applied`, with gaps below them; ascending. */
  readonly also: readonly NumberRange[];
}

/**
 * How far one consumer has come in the numbers of one coordinator. A number is applied when its address is let go of. A number that the coordinator
 * does not list needs nothing.
 */
export class Watermark {
  /** A dual-stack pod has two addresses under one number: it is let go of when both are. */
  readonly #pending = new Map<number, Set<string>>();
  #head = 0;

  /** The greatest number that the coordinator has sent. */
  get head(): number {
    return this.#head;
  }

  /** Whether a withdrawal is not applied. */
  get isBehind(): boolean {
    return this.#pending.size > 0;
  }

  get pending(): readonly Withdrawal[] {
    return [...this.#pending].flatMap(([number, addresses]) =>
      Array.from(addresses, (address): Withdrawal => [address, number]),
    );
  }

  /** Takes the coordinator's list of withdrawals up to `head`. Answers may arrive out of order: an older one is complete up to its own head only. */
  update(head: number, withdrawn: readonly Withdrawal[]): void {
    const before = this.progress();
    const known = new Map(this.#pending);
    for (const number of known.keys()) if (number <= head) this.#pending.delete(number);
    // An applied number stays applied: the answer may be older than our report.
    for (const [address, number] of withdrawn) {
      if (number > head || isApplied(number, before)) continue;
      if (known.get(number)?.has(address) === false) continue;
      const addresses = this.#pending.get(number);
      if (addresses) addresses.add(address);
      else this.#pending.set(number, new Set([address]));
    }
    this.#head = Math.max(this.#head, head);
  }

  markApplied(number: number, address: string): void {
    const addresses = this.#pending.get(number);
    addresses?.delete(address);
    if (addresses?.size === 0) this.#pending.delete(number);
  }

  progress(): Progress {
    const stuck = [...this.#pending.keys()].sort((a, b) => a - b);
    const [first] = stuck;
    if (first === undefined) return { applied: this.#head, also: [] };
    const also: NumberRange[] = [];
    for (const [index, number] of stuck.entries()) {
      const from = number + 1;
      const to = (stuck[index + 1] ?? this.#head + 1) - 1;
      if (from <= to && also.length < mostRanges) also.push([from, to]);
    }
    return { applied: first - 1, also };
  }
}

function isApplied(number: number, { applied, also }: Progress): boolean {
  return number <= applied || also.some(([from, to]) => number >= from && number <= to);
}
