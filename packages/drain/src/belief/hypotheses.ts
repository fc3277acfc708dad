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

/** In mean convergence times. A shared delay is a third as likely as none, and long delays are rare. With little traffic nothing else is known. */
export const delays = [0, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8] as const;
const delayWeights = [8, 1, 1, 1, 0.5, 0.2, 0.02, 0.003] as const;

/** In mean convergence times. */
export const means = [1 / 64, 1 / 16, 1 / 4, 1, 4] as const;
const meanWeights = [1, 1, 1, 0.5, 0.01] as const;

/** How many weights a prior has: by delay, within it by mean. */
export const hypothesisCount = delays.length * means.length;

/** The weights of the hypotheses before anything has been learnt. They add up to 1. */
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

/** The hypotheses of `adaptive` before anything has been seen or learnt, in the order of the learnt weights. */
export function priorHypotheses(): Hypothesis[] {
  const prior = defaultPrior();
  return delays.flatMap((delay, d) =>
    means.map((mean, m) => ({ delay, mean, weight: prior[d * means.length + m]! })),
  );
}

/** One more hypothesis beside the delays of the prior: all senders let go at the latest arrival. */
export interface Latest {
  /** Time since the deletion; 0 without an arrival. */
  readonly at: number;
  /** The rate of all arrivals together. */
  readonly rate: number;
}

/** Index of the last delay of the prior that is over at the latest arrival. */
export function delayBefore({ at }: Latest, convergence: number): number {
  return delays.findLastIndex((delay) => delay * convergence <= at);
}

/**
 * The prior has a few delays, and the real one may lie between two of them. So one is added: it ended just after the latest arrival, before the
 * next was due. Its weight is that stretch of time as a share of the way from one delay of the prior to the next. Without it, hundreds of senders
 * that stop together between two delays contradict every hypothesis, and the least contradicted one is believed though it is wrong.
 */
export function withLatest(prior: readonly number[], latest: Latest, convergence: number): number[] {
  const before = delayBefore(latest, convergence);
  const way = ((delays[before + 1] ?? 2 * delays.at(-1)!) - delays[before]!) * convergence;
  const share = latest.at > 0 ? Math.min(1, 1 / (latest.rate * way)) : 0;
  const nearest = prior.slice(before * means.length, (before + 1) * means.length);
  return [...prior, ...nearest.map((weight) => share * weight)];
}

/**
 * A sender that goes on sending counts for one mean convergence time at most. Rare, slow senders would send little after it, and waiting for that
 * saves hardly anything: with all of it counted, a pod with one arrival in ten seconds held a quarter longer and lost as much.
 */
export function counted(time: number, convergence: number): number {
  return Math.min(convergence, time);
}
