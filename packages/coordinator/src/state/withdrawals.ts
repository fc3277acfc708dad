/** A pod that has left the ready endpoints and still exists. */
export interface Withdrawn {
  readonly sequence: number;
  readonly addresses: readonly string[];
}

/** Numbers whose times are kept. A consumer that is further behind has been silent for long. */
const remembered = 50_000;

/** The withdrawals of one run, numbered in the order in which they were seen. */
export class Withdrawals {
  #lastSequence = 0;
  #version = 0;
  /** By number: insertion is the order of numbers. */
  readonly #there = new Map<number, Withdrawn>();
  #times: number[] = [];
  #firstTime = 1;

  /** The greatest number so far. */
  get lastSequence(): number {
    return this.#lastSequence;
  }

  /** Changes when the result of `after` may. */
  get version(): number {
    return this.#version;
  }

  add(addresses: readonly string[], now: number): number {
    const sequence = ++this.#lastSequence;
    this.#version++;
    this.#there.set(sequence, { sequence, addresses });
    this.#times.push(now);
    if (this.#times.length > 2 * remembered) {
      this.#times = this.#times.slice(-remembered);
      this.#firstTime = sequence - remembered + 1;
    }
    return sequence;
  }

  /** The pod is gone, or ready again: consumers need not look for it. */
  drop(sequence: number): void {
    if (this.#there.delete(sequence)) this.#version++;
  }

  /** When it was withdrawn, milliseconds by the coordinator's clock; -Infinity where that is no longer kept. */
  timeOf(sequence: number): number {
    return sequence < this.#firstTime ? -Infinity : (this.#times[sequence - this.#firstTime] ?? Infinity);
  }

  /** The withdrawals that a consumer with this watermark may not have applied. */
  *after(applied: number): Generator<Withdrawn> {
    for (const one of this.#there.values()) if (one.sequence > applied) yield one;
  }
}
