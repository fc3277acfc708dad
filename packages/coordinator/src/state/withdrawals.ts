/** A pod that has left the ready endpoints and still exists. */
export interface Withdrawn {
  readonly number: number;
  readonly addresses: readonly string[];
}

/** Numbers whose times are kept. A consumer that is further behind has been silent for long. */
const remembered = 50_000;

/** The withdrawals of one run, numbered in the order in which they were seen. */
export class Withdrawals {
  #head = 0;
  #version = 0;
  /** By number: insertion is the order of numbers. */
  readonly #there = new Map<number, Withdrawn>();
  #times: number[] = [];
  #firstTime = 1;

  /** The greatest number so far. */
  get head(): number {
    return this.#head;
  }

  /** Changes when the result of `after` may. */
  get version(): number {
    return this.#version;
  }

  get size(): number {
    return this.#there.size;
  }

  add(addresses: readonly string[], now: number): number {
    const number = ++this.#head;
    this.#version++;
    this.#there.set(number, { number, addresses });
    this.#times.push(now);
    if (this.#times.length > 2 * remembered) {
      this.#times = this.#times.slice(-remembered);
      this.#firstTime = number - remembered + 1;
    }
    return number;
  }

  /** The pod is gone, or ready again: consumers need not look for it. */
  drop(number: number): void {
    if (this.#there.delete(number)) this.#version++;
  }

  /** When it was withdrawn, milliseconds by the coordinator's clock; -Infinity where that is no longer kept. */
  timeOf(number: number): number {
    return number < this.#firstTime ? -Infinity : (this.#times[number - this.#firstTime] ?? Infinity);
  }

  /** The withdrawals that a consumer with this watermark may not have applied. */
  *after(applied: number): Generator<Withdrawn> {
    for (const one of this.#there.values()) if (one.number > applied) yield one;
  }
}
