import type { Interval, Quantiles } from "./model/results.ts";
import { random } from "./model/random.ts";

export function ascending(one: number, other: number): number {
  return one - other;
}

/** Fewer values than this are no sample to draw an interval from. */
export const few = 10;

/** Intervals that need no bootstrap; undefined where one is needed. */
export function withoutDrawing(values: readonly number[]): Interval | undefined {
  const n = values.length;
  if (n === 0) return { mean: 0, low: 0, high: 0 };
  if (values.every((value) => value === 0))
    return { mean: 0, low: 0, high: boundAfterNone(n), basis: "bound" };
  if (n >= few) return undefined;
  return { mean: average(values), low: Math.min(...values), high: Math.max(...values), basis: "range" };
}

/**
 * The value below which a share of the sample lies, interpolated between neighbours (type 7 of Hyndman and Fan, the default of R).
 * @param sorted in ascending order, not empty.
 */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  const position = (sorted.length - 1) * share;
  const below = sorted[Math.floor(position)]!;
  const above = sorted[Math.ceil(position)]!;
  // Written so that the result never leaves [below, above] by rounding.
  return Math.min(above, below + (above - below) * (position - Math.floor(position)));
}

export function quantiles(values: readonly number[]): Quantiles {
  if (values.length === 0) return { count: 0, p50: 0, p90: 0, max: 0 };
  const sorted = [...values].sort(ascending);
  return {
    count: sorted.length,
    p50: quantile(sorted, 0.5),
    p90: quantile(sorted, 0.9),
    max: sorted.at(-1)!,
  };
}

/** 2,000 draws put the ends of a 95 % interval within about 1 % of their limit; more costs time and changes nothing a reader sees. */
const draws = 2_000;

/**
 * Mean per termination with the percentile bootstrap over terminations: they are the unit, for requests of one termination fall together.
 * Of few terminations it is the least and the most of them, and where nothing was lost [0, boundAfterNone].
 */
export function perTermination(losses: readonly number[], seed: number): Interval {
  const plain = withoutDrawing(losses);
  if (plain) return plain;
  const n = losses.length;
  const source = random(seed, "bootstrap");
  const means = Array.from({ length: draws }, () => {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += losses[Math.floor(source.next() * n)]!;
    return sum / n;
  }).sort(ascending);
  return {
    mean: average(losses),
    low: quantile(means, 0.025),
    high: quantile(means, 0.975),
    basis: "bootstrap",
  };
}

/**
 * With 95 % confidence fewer than this share of terminations lose anything, when none of n did: where the share is p, none does with
 * probability (1 - p)^n (Clopper and Pearson). 3/n, the rule of three, is this for large n only: 0.75 for 4 instead of 0.53.
 */
export function boundAfterNone(n: number): number {
  return 1 - 0.05 ** (1 / n);
}

/** The probability of `least` or more successes in n trials of probability p. */
export function binomialTail(least: number, n: number, p: number): number {
  if (least <= 0 || p >= 1) return 1;
  if (least > n || p <= 0) return 0;
  // Terms by the ratio of neighbours, in logarithms: the first may be too small for a number.
  let term = 0;
  for (let k = 0; k < least; k++) term += Math.log((n - k) / (k + 1));
  term += least * Math.log(p) + (n - least) * Math.log1p(-p);
  let sum = 0;
  for (let k = least; k <= n; k++) {
    sum += Math.exp(term);
    term += Math.log((n - k) / (k + 1)) + Math.log(p / (1 - p));
  }
  return Math.min(1, sum);
}

export function average(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** How many of the sorted values are smaller. */
export function countBelow(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
