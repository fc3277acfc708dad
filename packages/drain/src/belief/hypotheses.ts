/**
 * How fast senders converge differs a thousandfold between clusters and is known to nobody, so the rule keeps many hypotheses of it at once:
 *
 *     after the deletion nothing happens for D; then each sender lets go after an exponential time of mean m.
 *
 * Every sender's arrivals and silence are likely under some hypotheses and unlikely under others; the weights follow by Bayes' rule. So all
 * senders together show what no single one could: hundreds of clients that each come once a minute fall silent together, and a late
 * withdrawal delays them all.
 * Times and rates share one unit (here milliseconds and arrivals per millisecond).
 */

/** In mean convergence times. Some shared delay is a third as likely as none, and long ones are rare: with little traffic this is all there is to go by. */
export const delays = [0, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8] as const;
const delayWeights = [8, 1, 1, 1, 0.5, 0.2, 0.02, 0.003] as const;

/** In mean convergence times. */
export const means = [1 / 64, 1 / 16, 1 / 4, 1, 4] as const;
const meanWeights = [1, 1, 1, 0.5, 0.01] as const;

/** How many weights a prior has: by delay, within it by mean. */
export const hypothesisCount = delays.length * means.length;

/** What is believed of hypotheses before anything has been learnt: weights that add up to 1. */
export function defaultPrior(): number[] {
  const weights = delayWeights.flatMap((delay) => meanWeights.map((mean) => delay * mean));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/** One hypothesis of how senders converge, and how likely it is before anything is seen. */
export interface Hypothesis {
  /** In mean convergence times (`convergence` of the settings). */
  readonly delay: number;
  readonly mean: number;
  readonly weight: number;
}

/** What `adaptive` believes before it has seen or learnt anything, in the order of what it learns. */
export function priorHypotheses(): Hypothesis[] {
  const prior = defaultPrior();
  return delays.flatMap((delay, d) =>
    means.map((mean, m) => ({ delay, mean, weight: prior[d * means.length + m]! })),
  );
}

/** A delay beside those of the prior: that all let go at the latest arrival of any. */
export interface Latest {
  /** Since the deletion; 0 if there was none. */
  readonly at: number;
  /** Of all arrivals. */
  readonly rate: number;
}

/** The last delay of the prior that is no longer than that of the latest arrival. */
export function delayBefore({ at }: Latest, convergence: number): number {
  return delays.findLastIndex((delay) => delay * convergence <= at);
}

/**
 * The prior has delays here and there where there may be any between. That the delay ended just after the latest arrival and before the next was
 * due is as likely as that time is part of the way from one delay of the prior to the next. Without it, hundreds of senders that stop together between
 * two of them contradict everything so strongly that what is left is believed though it is wrong.
 */
export function withLatest(prior: readonly number[], latest: Latest, convergence: number): number[] {
  const before = delayBefore(latest, convergence);
  const way = ((delays[before + 1] ?? 2 * delays.at(-1)!) - delays[before]!) * convergence;
  const share = latest.at > 0 ? Math.min(1, 1 / (latest.rate * way)) : 0;
  const nearest = prior.slice(before * means.length, (before + 1) * means.length);
  return [...prior, ...nearest.map((weight) => share * weight)];
}

/**
 * Of the time for which a sender goes on sending, what counts: one mean convergence time. What rare, slow senders would still send later is as little
 * as it is late, and waiting for it saves hardly anything: with all of it counted, a pod with one arrival in ten seconds held a quarter longer to
 * lose as much.
 */
export function counted(time: number, convergence: number): number {
  return Math.min(convergence, time);
}
