import type { Random } from "../model/random.ts";

/** How long something takes, milliseconds, as a distribution. Plain data, so that it can be printed and sent to another process. */
export type Delay =
  | { readonly kind: "fixed"; readonly after: number }
  | { readonly kind: "uniform"; readonly from: number; readonly to: number }
  /** Told by its median and one more quantile. */
  | { readonly kind: "lognormal"; readonly median: number; readonly share: number; readonly at: number }
  /** Straight lines between the points (share of draws, milliseconds); begins at (0, 0). */
  | { readonly kind: "measured"; readonly points: readonly (readonly [share: number, at: number])[] }
  /** `likelihood` of meeting a conflict, then back-offs of `first`, twice `first` ..., each repeated with likelihood `again`. */
  | {
      readonly kind: "back-off";
      readonly likelihood: number;
      readonly first: number;
      readonly again: number;
      readonly most: number;
    }
  | { readonly kind: "sum"; readonly parts: readonly Delay[] };

export function draw(delay: Delay, from: Random): number {
  switch (delay.kind) {
    case "fixed":
      return delay.after;
    case "uniform":
      return from.uniform(delay.from, delay.to);
    case "lognormal":
      return (
        delay.median *
        Math.exp((from.normal() * Math.log(delay.at / delay.median)) / normalQuantile(delay.share))
      );
    case "measured":
      return interpolate(delay.points, from.next());
    case "back-off":
      return backOff(delay, from);
    case "sum":
      return delay.parts.reduce((sum, part) => sum + draw(part, from), 0);
  }
}

function interpolate(points: readonly (readonly [number, number])[], share: number): number {
  let [before, low] = [0, 0];
  for (const [upTo, high] of points) {
    if (share <= upTo) return low + ((share - before) / (upTo - before)) * (high - low);
    [before, low] = [upTo, high];
  }
  return low;
}

function backOff(delay: Delay & { kind: "back-off" }, from: Random): number {
  // Always the same number of draws, so that what follows in the stream does not depend on the outcome.
  const draws = Array.from({ length: delay.most }, () => from.next());
  let total = 0;
  for (const [retry, value] of draws.entries()) {
    if (value >= (retry === 0 ? delay.likelihood : delay.again)) break;
    total += delay.first * 2 ** retry;
  }
  return total;
}

/** Upper quantiles of the standard normal distribution that the presets are told by. */
function normalQuantile(share: number): number {
  const known: Readonly<Record<string, number>> = { 0.9: 1.281552, 0.95: 1.644854, 0.99: 2.326348 };
  const value = known[String(share)];
  if (value === undefined) throw new RangeError(`no normal quantile for ${share}`);
  return value;
}
