import { average as mean, quantile, withoutDrawing, type Interval } from "@lameduck/accounting";
import { Random } from "../kernel/random.ts";

export { mean, quantile, type Interval };

/**
 * 95 % interval of the mean, by bootstrap over terminations: losses come in clusters, so the termination is the unit and not the
 * request. Of few terminations the least and the most of them; where nothing was lost, the exact bound on the share that loses anything.
 */
export function interval(values: readonly number[], seed: number): Interval {
  const plain = withoutDrawing(values);
  if (plain) return plain;
  const random = new Random(seed, "bootstrap");
  const means = Array.from({ length: 400 }, () => {
    let sum = 0;
    for (let draw = 0; draw < values.length; draw++) sum += values[random.below(values.length)]!;
    return sum / values.length;
  }).sort((a, b) => a - b);
  return {
    mean: mean(values),
    low: quantile(means, 0.025),
    high: quantile(means, 0.975),
    basis: "bootstrap",
  };
}
