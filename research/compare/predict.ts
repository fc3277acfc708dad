import { Random } from "../../packages/simulator/src/kernel/random.ts";
import type { Scenario } from "../../packages/simulator/src/model/scenario.ts";
import type { Contender } from "../../packages/simulator/src/policies/stopper.ts";
import { run } from "../../packages/simulator/src/run.ts";
import { mean } from "../../packages/simulator/src/simulate/statistics.ts";

/** What was measured, or the range in which the model expects it. */
export interface Range {
  readonly low: number;
  readonly high: number;
}

export interface Prediction {
  readonly lost: Range;
  readonly hold: Range;
  readonly oracle: Range;
}

export type Middle = (values: readonly number[]) => number;

/** So many rollouts are played; their Monte Carlo error is small beside that of the few that were measured. */
const leastRollouts = 200;
const draws = 1_000;

/**
 * A measurement is one draw of some rollouts. The terminations of a rollout share one controller and the periods of the
 * proxies, so the rollout is the unit. The model plays many rollouts. As many as were measured are drawn from them, again and
 * again; 95 of 100 draws lie in the range. That holds for rare losses too, where an interval from the measured values would
 * not.
 */
export function predict(
  scenario: Scenario,
  contender: Contender,
  measured: { readonly rollouts: number; readonly perRollout: number },
  middle: Middle = mean,
): Prediction {
  const { rollouts, perRollout } = measured;
  const played = run({ ...scenario, terminations: perRollout * leastRollouts }, [contender], { seed: 1 });
  const outcomes = played.outcomes[0] ?? [];
  const range = (values: readonly number[], of: Middle): Range => rangeOf(values, perRollout, rollouts, of);
  return {
    lost: range(
      outcomes.map(({ lost }) => lost),
      mean,
    ),
    hold: range(
      outcomes.map(({ hold }) => hold),
      middle,
    ),
    oracle: range([...played.oracles], middle),
  };
}

export function rangeOf(
  values: readonly number[],
  perRollout: number,
  rollouts: number,
  middle: Middle,
): Range {
  const played = Array.from({ length: Math.floor(values.length / perRollout) }, (_, index) =>
    values.slice(index * perRollout, (index + 1) * perRollout),
  );
  const random = new Random("predict", rollouts);
  const middles = Array.from({ length: draws }, () =>
    middle(Array.from({ length: rollouts }, () => played[random.below(played.length)] ?? []).flat()),
  ).sort((a, b) => a - b);
  const at = (share: number): number => middles[Math.round(share * (middles.length - 1))] ?? 0;
  return { low: at(0.025), high: at(0.975) };
}
