import { delays, means, hypothesisCount, defaultPrior } from "./hypotheses.ts";
import { checksum, shown } from "../common.ts";
import { DrainError } from "../errors.ts";

/** What terminations of one workload have taught about its environment: small, and plain JSON, to be carried from pod to pod. */
export interface Learnt {
  /** Tells to which hypotheses and to which default prior the weights belong. */
  readonly version: number;
  readonly terminations: number;
  /** How likely each hypothesis of the environment has become; the order is that of hypotheses.ts. They add up to 1. */
  readonly weights: readonly number[];
}

/** No more terminations than these count, so that a changed cluster is believed within a day's rollouts. */
const memory = 50;

/** The default prior counts as this many terminations. So nothing is ever ruled out, only made less likely. */
const unlearntWorth = 3;

/**
 * Weights mean something only together with the hypotheses that they weigh and the belief to which the first update was added. So their version is
 * a checksum of these, which nobody can forget to change.
 */
export const learntVersion = checksum(JSON.stringify([delays, means, defaultPrior()]));

/**
 * Adds what one termination says of its environment (`Drain.priorUpdate`, to users `lesson()`). An earlier value that cannot be used is
 * ignored, and learning begins anew.
 * @throws {DrainError} where there is no such update, as before the end of the hold.
 */
export function learn(learnt: Learnt | null | undefined, priorUpdate: readonly number[]): Learnt {
  if (!Array.isArray(priorUpdate) || priorUpdate.length !== hypothesisCount || !priorUpdate.every(isWeight))
    throw new DrainError(
      "LAMEDUCK_BAD_NUMBER",
      "lesson",
      `${shown(priorUpdate)} is not what lesson() gives, ${hypothesisCount} weights`,
    );
  const known = unusable(learnt) === undefined ? learnt : undefined;
  const terminations = (known?.terminations ?? 0) + 1;
  const share = 1 / (Math.min(terminations, memory) + unlearntWorth);
  const weights = priorOf(known).map((weight, index) => (1 - share) * weight + share * priorUpdate[index]!);
  return { version: learntVersion, terminations, weights };
}

/** Why a value cannot be used, for example because it has another version. Undefined where it can be used, and for null and undefined. */
export function unusable(learnt: unknown): string | undefined {
  if (learnt === undefined || learnt === null) return undefined;
  const { version, terminations, weights } = learnt as Partial<Record<keyof Learnt, unknown>>;
  if (version !== learntVersion)
    return `is of version ${shown(version)}; this release reads version ${learntVersion}`;
  if (typeof terminations !== "number" || !Number.isInteger(terminations) || terminations < 0)
    return `${shown(terminations)} is not a number of terminations`;
  if (!Array.isArray(weights) || weights.length !== hypothesisCount)
    return `must have ${hypothesisCount} weights`;
  const wrong = weights.findIndex((weight) => !isWeight(weight));
  if (wrong >= 0) return `${shown(weights[wrong])} is not a weight`;
  return weights.every((weight) => weight === 0) ? "all weights are 0" : undefined;
}

function isWeight(weight: unknown): boolean {
  return Number.isFinite(weight) && (weight as number) >= 0;
}

/** @throws {DrainError} where the value is not one that `learn` gave. */
export function priorOf(learnt: Learnt | null | undefined): number[] {
  const problem = unusable(learnt);
  if (problem !== undefined) throw new DrainError("LAMEDUCK_BAD_NUMBER", "learnt", problem);
  if (!learnt) return defaultPrior();
  const sum = learnt.weights.reduce((total, weight) => total + weight, 0);
  return learnt.weights.map((weight) => weight / sum);
}
