import { type NumberRange, type Withdrawal, writeCoordinatorAnswer } from "@lameduck/protocol";
import { type Listener, needsHeardBy, type Withdrawals } from "./withdrawals.ts";

/** Characters of all answers that are kept. One of 10,000 withdrawals has some 200,000. */
const mostKept = 8 * 2 ** 20;

/** What consumers are told. Those with the same watermark share an answer, as most have the same. */
export class Answers {
  readonly #epoch: string;
  readonly #withdrawals: Withdrawals;
  readonly #kept = new Map<number, string>();
  #version = -1;
  #size = 0;

  constructor(epoch: string, withdrawals: Withdrawals) {
    this.#epoch = epoch;
    this.#withdrawals = withdrawals;
  }

  /** Characters that are kept for further consumers. */
  get size(): number {
    return this.#size;
  }

  /** @param listener who hears of some pods only. */
  after(applied: number, also: readonly NumberRange[], listener?: Listener): string {
    if (also.length > 0 || (listener && needsHeardBy(listener))) return this.#made(applied, also, listener);
    if (this.#version !== this.#withdrawals.version || this.#size > mostKept) this.#clear();
    const known = this.#kept.get(applied);
    if (known !== undefined) return known;
    const made = this.#made(applied, also);
    this.#kept.set(applied, made);
    this.#size += made.length;
    return made;
  }

  #clear(): void {
    this.#version = this.#withdrawals.version;
    this.#kept.clear();
    this.#size = 0;
  }

  #made(applied: number, also: readonly NumberRange[], listener?: Listener): string {
    const withdrawn: Withdrawal[] = [];
    for (const { addresses, sequence } of this.#withdrawals.after(applied, listener))
      if (!also.some(([from, to]) => sequence >= from && sequence <= to))
        for (const address of addresses) withdrawn.push([address, sequence]);
    return writeCoordinatorAnswer({ epoch: this.#epoch, head: this.#withdrawals.lastSequence, withdrawn });
  }
}
