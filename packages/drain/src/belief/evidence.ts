/**
 * What silence proves of one sender. S is the chance of such a silence while the sender still sends. It is given as its cumulative hazard, -ln S.
 * posterior.ts computes from it the chance that the sender still sends. Times are milliseconds, rates are arrivals per millisecond.
 */

/** No sender opens more than 10,000 connections in a millisecond; the bound keeps arithmetic on any finite input free of NaN. */
const highestRate = 10_000;

/** No habit explains a silence whose chance is 1e-9 or less: the sender has left. */
export const leftHazard = -Math.log(1e-9);

/** A shorter time shows no habit: a pool that opens several connections at once is no sender of thousands a second. */
const leastExposureMs = 1_000;

/**
 * Gaps that come in bursts have a longer tail than their longest gap shows. This exponent stretches the tail: with coefficients of variation of 3
 * and 5 it keeps the loss budget. With half of it up to eighty times as much was lost (docs/contributing/decision.md).
 */
const burstiness = 0.4;

/** The pauses among the gaps of a sender: their share, and the length of the longest. */
export interface Pauses {
  readonly share: number;
  readonly longest: number;
}

const noPauses: Pauses = { share: 0, longest: 0 };

/**
 * The predictive distribution of a sender's next gap, learnt from `gaps` gaps in a time of `exposure`. Its tail is S = (t/(t+x))^n (Solow
 * 1993): a rate that is learnt from few arrivals is uncertain. Arrivals also come in bursts, so no silence counts for more than the longest
 * gap allows. Of n Poisson gaps the longest is about (ln n + 0.577)/r. A longest gap that is b times as long is a sign of bursts. A silence
 * may also be a pause, with the chance that one of the gaps was a pause. S is a mixture then.
 */
export class LearntHabit {
  /** Mean rate until the last arrival. */
  readonly rate: number;
  readonly #gaps: number;
  readonly #t: number;
  /** The most that a millisecond of silence adds to -ln S. The longest gap sets this bound. */
  readonly slope: number;
  readonly #pauses: Pauses;

  constructor(gaps: number, exposure: number, longestGap: number, pauses = noPauses) {
    this.#gaps = gaps;
    this.#t = Math.max(exposure, leastExposureMs);
    this.rate = Math.min(gaps / this.#t, highestRate);
    const expected = Math.log(Math.max(gaps, 1)) + 0.577;
    const bursts = Math.max(1, (longestGap * this.rate) / expected) ** burstiness;
    this.slope = longestGap > 0 ? expected / longestGap / bursts : Infinity;
    this.#pauses = pauses;
  }

  hazard(silence: number): number {
    if (silence <= 0) return 0;
    const usual = Math.min(this.#gaps * Math.log1p(silence / this.#t), silence * this.slope);
    const { share, longest } = this.#pauses;
    if (share === 0) return usual;
    // Both chances are taken relative to the likelier one, so that neither vanishes in rounding.
    const pause = silence / longest;
    const least = Math.min(usual, pause);
    return least - Math.log((1 - share) * Math.exp(least - usual) + share * Math.exp(least - pause));
  }

  rateAfter(silence: number): number {
    return Math.min(this.#gaps / (this.#t + silence), highestRate);
  }
}

/** The latest gaps of a sender that has slowed down. */
export interface Recent {
  readonly meanGap: number;
  /** The mean is as certain as if it were learnt from this many gaps. */
  readonly worth: number;
}

/**
 * Lower numbers would be more cautious and slower (docs/contributing/decision.md). Senders of the aggregate let go one after the other, and its gaps go on
 * growing, so its latest gaps say less.
 */
export const recentGaps = { ofOne: 10, ofAggregate: 5 } as const;

/** -ln of the chance of a silence, judged by recent gaps alone. */
export function recentHazard({ meanGap, worth }: Recent, silence: number): number {
  return worth * Math.log1p(silence / (worth * meanGap));
}
