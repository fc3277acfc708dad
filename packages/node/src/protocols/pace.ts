/**
 * A loop that stood still makes up for so much of its delay at once, milliseconds. More would be the burst that the pace is there to avoid; what is left
 * of it is spread over the rest of the time.
 */
const longestLateMs = 50;

export interface PaceTimes {
  /** Nothing is ended before this moment. */
  readonly from: number;
  /** From this moment on everything is due. */
  readonly until: number;
  /** Between two ends at most: few connections need less than the whole time. Milliseconds. */
  readonly gap: number;
}

/** When lasting connections are ended, one after the other at an even rate, so that their clients do not all come back at once. Pure. */
export class Pace {
  readonly #times: PaceTimes;
  readonly #random: () => number;
  /** When the next one is due; undefined while there is none. */
  #next: number | undefined;

  /** @param random 0 to 1: pods that begin together do not end their connections at the same moments. */
  constructor(times: PaceTimes, random: () => number) {
    this.#times = times;
    this.#random = random;
  }

  /** How many of the `left` connections are to be ended at `now`. Connections may come, or go by themselves, between two calls. */
  due(left: number, now: number): number {
    const { from, until, gap } = this.#times;
    if (left === 0) {
      this.#next = undefined;
      return 0;
    }
    if (now >= until) return left;
    const begin = Math.max(from, now);
    this.#next ??= begin + this.#random() * Math.min(gap, (until - begin) / left);
    if (this.#next > now) return 0;
    const next = Math.max(this.#next, now - longestLateMs);
    const interval = Math.min(gap, (until - next) / left);
    const count = Math.min(left, Math.floor((now - next) / interval) + 1);
    this.#next = next + count * interval;
    return count;
  }
}
