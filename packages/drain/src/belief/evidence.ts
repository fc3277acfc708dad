/**
 * What silence proves. Times and rates share one unit (here milliseconds and arrivals per millisecond).
 *
 * A sender sends at rate r until it converges, which happens at hazard u = 1/m (m: mean convergence time). After a silence x:
 *
 *     S = probability that a sender still sending is silent for x        e^(-r x) for Poisson arrivals at a known rate
 *     J = probability that it converged within x, before any arrival     u/(r+u) * (1 - e^(-(r+u) x))
 *     P = e^(-u x) S / (e^(-u x) S + J)                                  probability that it still sends
 *     loss = P * r * m                                                   requests it would still send
 *
 * With S = e^(-r x) this is the "P(alive)" of Schmittlein, Morrison & Colombo (1987).
 */

/** No sender opens more than 10,000 connections in a millisecond; the bound keeps arithmetic on any finite input free of NaN. */
export const highestRate = 10_000;

/** A silence with a chance of 1e-9 or less is not one of those that a habit knows. */
export const leftSurprise = -Math.log(1e-9);

/** What is known of one sender's habits before the silence in question. */
export interface Habit {
  /** Mean rate until the last arrival. */
  readonly rate: number;
  /** Rate expected now, given that it may have been overestimated from few arrivals. */
  readonly rateNow: number;
  /** -ln S: how surprising the silence is for a sender still sending, in nats. */
  readonly surprise: number;
}

/**
 * Milliseconds. A pool that opens several connections at once is no sender of thousands a second: in less time than this nobody shows a habit.
 */
const leastExposure = 1_000;

/** The habit of a sender whose rate is known. */
export function knownHabit(rate: number, silence: number): Habit {
  const bounded = Math.min(rate, highestRate);
  return { rate: bounded, rateNow: bounded, surprise: bounded * silence };
}

/**
 * How much more slowly than their longest gap tells the tail of bursty gaps falls: with gaps of a coefficient of variation of 3 and 5 this keeps the
 * loss budget, where a half of it lost up to eighty times as much (docs/decision.md).
 */
const burstiness = 0.4;

/** Of its gaps, which share were pauses, and how long they can be. */
export interface Pauses {
  readonly share: number;
  readonly longest: number;
}

const noPauses: Pauses = { share: 0, longest: 0 };

/**
 * The habit of a sender seen to make `gaps` gaps in `exposure`: the predictive tail S = (t/(t+x))^n (Solow 1993), because a
 * rate learnt from few arrivals is uncertain; and no silence counts for more than its longest gap allows, because arrivals come
 * in bursts: of n Poisson gaps the longest is about (ln n + 0.577)/r, and one b times as long speaks of bursts. A silence may also be
 * a pause, as likely as one of its gaps was: S is a mixture then.
 */
export class LearntHabit {
  /** Mean rate until the last arrival. */
  readonly rate: number;
  readonly #gaps: number;
  readonly #t: number;
  /** -ln S per unit of silence, as far as the longest gap allows. */
  readonly slope: number;
  readonly #pauses: Pauses;

  constructor(gaps: number, exposure: number, longestGap: number, pauses = noPauses) {
    this.#gaps = gaps;
    this.#t = Math.max(exposure, leastExposure);
    this.rate = Math.min(gaps / this.#t, highestRate);
    const expected = Math.log(Math.max(gaps, 1)) + 0.577;
    const bursts = Math.max(1, (longestGap * this.rate) / expected) ** burstiness;
    this.slope = longestGap > 0 ? expected / longestGap / bursts : Infinity;
    this.#pauses = pauses;
  }

  surprise(silence: number): number {
    if (silence <= 0) return 0;
    const usual = Math.min(this.#gaps * Math.log1p(silence / this.#t), silence * this.slope);
    const { share, longest } = this.#pauses;
    if (share === 0) return usual;
    // Relative to the likelier of both: neither chance can vanish in rounding.
    const pause = silence / longest;
    const least = Math.min(usual, pause);
    return least - Math.log((1 - share) * Math.exp(least - usual) + share * Math.exp(least - pause));
  }

  rateAfter(silence: number): number {
    return Math.min(this.#gaps / (this.#t + silence), highestRate);
  }
}

/** The same after one silence. */
export function learntHabit(gaps: number, exposure: number, longestGap: number, silence: number): Habit {
  const habit = new LearntHabit(gaps, exposure, longestGap);
  return { rate: habit.rate, rateNow: habit.rateAfter(silence), surprise: habit.surprise(silence) };
}

/** How many gaps a mean of recent gaps is worth. Fewer would be more cautious and slower: see docs/decision.md. */
const recentGaps = 10;

/** -ln of the chance of a silence, judged by the mean of recent gaps alone. */
export function recentSurprise(meanGap: number, silence: number): number {
  return recentGaps * Math.log1p(silence / (recentGaps * meanGap));
}

/** P: the probability that a sender of this habit, silent for `silence`, still sends here. */
export function aliveProbability(habit: Habit, silence: number, convergence: number): number {
  const u = 1 / convergence;
  const total = habit.rate + u;
  const logConverged = Math.log(u / total) + Math.log(-Math.expm1(-total * silence));
  return 1 / (1 + Math.exp(logConverged + u * silence + habit.surprise));
}

/** Requests that this sender is expected to send still. */
export function expectedLoss(habit: Habit, silence: number, convergence: number): number {
  return aliveProbability(habit, silence, convergence) * habit.rateNow * convergence;
}
