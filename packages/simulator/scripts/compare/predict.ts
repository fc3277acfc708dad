import type { Scenario } from "../../src/model/scenario.ts";
import type { Contender } from "../../src/policies/stopper.ts";
import { run } from "../../src/run.ts";

/** What was measured, or the range in which the model expects it. */
export interface Range {
  readonly low: number;
  readonly mean: number;
  readonly high: number;
}

export interface Prediction {
  readonly lost: Range;
  readonly hold: Range;
  readonly oracle: Range;
}

/** So many runs like the measured one are played. */
const runs = 200;

/**
 * A measurement of n terminations is one draw: the model plays the same run many times, and 95 of 100 means of n lie in the range. That holds for
 * terminations that depend on one another (a rollout's share one controller) and for losses that are rare, where an interval from the
 * measured values themselves would not.
 */
export function predict(scenario: Scenario, contender: Contender, perRun: number, middle = mean): Prediction {
  const played = run({ ...scenario, terminations: perRun * runs }, [contender], { seed: 1 });
  const outcomes = played.outcomes[0] ?? [];
  const oracles = [...played.oracles];
  return {
    lost: rangeOf(
      outcomes.map(({ lost }) => lost),
      perRun,
      mean,
    ),
    hold: rangeOf(
      outcomes.map(({ hold }) => hold),
      perRun,
      middle,
    ),
    oracle: rangeOf(oracles, perRun, middle),
  };
}

export function rangeOf(values: readonly number[], perRun: number, middle: typeof mean): Range {
  const means: number[] = [];
  for (let first = 0; first + perRun <= values.length; first += perRun)
    means.push(middle(values.slice(first, first + perRun)));
  means.sort((a, b) => a - b);
  const at = (share: number): number => means[Math.round(share * (means.length - 1))] ?? 0;
  return { low: at(0.025), mean: mean(means), high: at(0.975) };
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return ((sorted[(sorted.length - 1) >> 1] ?? 0) + (sorted[sorted.length >> 1] ?? 0)) / 2;
}
