import type { Distribution } from "@lameduck/senders";

/** What draws are made from: seeded, so that the same seed gives the same ones. */
export interface Draws {
  /** In (0, 1). */
  uniform(): number;
  exponential(mean: number): number;
  /** Standard normal. */
  normal(): number;
}

const normal90 = 1.2815515655446004;

/** Draws from a distribution. */
export function draw(distribution: Distribution, random: Draws): number {
  if (typeof distribution === "number") return distribution;
  if ("uniform" in distribution) {
    const [from, to] = distribution.uniform;
    return from + (to - from) * random.uniform();
  }
  if ("exponential" in distribution) return random.exponential(distribution.exponential);
  if ("lognormal" in distribution) return lognormal(distribution.lognormal, random.normal());
  if ("quantiles" in distribution) return quantile(distribution.quantiles, random.uniform());
  if ("mixture" in distribution) return draw(chosen(distribution.mixture, random.uniform()), random);
  return distribution.sum.reduce<number>((total, part) => total + draw(part, random), 0);
}

/** Mean, exact for every form. */
export function meanOf(distribution: Distribution): number {
  if (typeof distribution === "number") return distribution;
  if ("uniform" in distribution) return (distribution.uniform[0] + distribution.uniform[1]) / 2;
  if ("exponential" in distribution) return distribution.exponential;
  if ("lognormal" in distribution) {
    const [median, p90] = distribution.lognormal;
    return median * Math.exp((Math.log(p90 / median) / normal90) ** 2 / 2);
  }
  if ("quantiles" in distribution) return meanOfQuantiles(distribution.quantiles);
  if ("mixture" in distribution) {
    const weight = distribution.mixture.reduce((sum, [share]) => sum + share, 0);
    return distribution.mixture.reduce((sum, [share, part]) => sum + (share / weight) * meanOf(part), 0);
  }
  return distribution.sum.reduce<number>((total, part) => total + meanOf(part), 0);
}

function lognormal([median, p90]: readonly [number, number], z: number): number {
  return median * Math.exp((Math.log(p90 / median) / normal90) * z);
}

/** A recording has thousands of points, and destructuring each takes most of an advice's time. */
function quantile(points: readonly (readonly [number, number])[], p: number): number {
  let lastP = 0;
  let lastValue = 0;
  for (let index = 0; index < points.length; index++) {
    const point = points[index]!;
    if (p <= point[0]) return lastValue + ((p - lastP) / (point[0] - lastP || 1)) * (point[1] - lastValue);
    lastP = point[0];
    lastValue = point[1];
  }
  return lastValue;
}

function meanOfQuantiles(points: readonly (readonly [number, number])[]): number {
  let mean = 0;
  let [lastP, lastValue]: readonly [number, number] = [0, 0];
  for (const [p, value] of points) {
    mean += ((p - lastP) * (value + lastValue)) / 2;
    [lastP, lastValue] = [p, value];
  }
  return mean + (1 - lastP) * lastValue;
}

function chosen(parts: readonly (readonly [number, Distribution])[], p: number): Distribution {
  let left = p * parts.reduce((sum, [share]) => sum + share, 0);
  for (const [share, part] of parts) {
    left -= share;
    if (left <= 0) return part;
  }
  return parts.at(-1)?.[1] ?? 0;
}
