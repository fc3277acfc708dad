/** The shortest time between two evaluations. */
const leastPauseMs = 20;

/** The pause after an evaluation close to the budget, as a share of the hold so far. */
const closePause = 1 / 64;

/** The factor of that pause where the loss is far above the budget. */
const longestPauses = 6;

/**
 * Evaluates the expected loss some twenty times in a hold, however much is observed: again after a sixty-fourth of the hold where the loss is close
 * to the budget, after six of them where it is far above. A loss below the budget stays below it until something is observed.
 */
export class Evaluations {
  #observed = 0;
  #nextAt = -Infinity;
  /** How much had been observed when the loss was last below the budget. */
  #belowAt: number | undefined;

  /** Something that may change the loss. */
  observed(): void {
    this.#observed++;
  }

  /** @returns when to ask again; undefined where the loss is below the budget. */
  next(now: number, terminatedAt: number, budget: number, loss: (now: number) => number): number | undefined {
    if (this.#belowAt === this.#observed) return undefined;
    if (now >= this.#nextAt) {
      const above = Math.log(loss(now) / budget);
      const pauses = Math.min(longestPauses, Math.max(1, above));
      this.#nextAt = now + Math.max(leastPauseMs, (now - terminatedAt) * closePause * pauses);
      this.#belowAt = above < 0 ? this.#observed : undefined;
      if (above < 0) return undefined;
    }
    return this.#nextAt;
  }
}
