import { pictureCount, unlearntPrior } from "./pictures.ts";
import { DrainError } from "./errors.ts";

/** What terminations of one workload have taught about its environment: small, and plain JSON, to be carried from pod to pod. */
export interface Learnt {
  /** How many terminations. */
  readonly terminations: number;
  /** How likely each picture of the environment has become; the order is that of pictures.ts. They add up to 1. */
  readonly weights: readonly number[];
}

/** Of the oldest lessons no more than this many count, so that a changed cluster is believed within a day's rollouts. */
const memory = 50;

/** As many terminations as the belief before the first one is worth: nothing is ever ruled out, only made less likely. */
const unlearntWorth = 3;

/** Adds the lesson of one termination (see `Drain.lesson`). */
export function learn(learnt: Learnt | undefined, lesson: readonly number[]): Learnt {
  const before = priorOf(learnt);
  const terminations = (learnt?.terminations ?? 0) + 1;
  const share = 1 / (Math.min(terminations, memory) + unlearntWorth);
  const weights = before.map((weight, index) => (1 - share) * weight + share * (lesson[index] ?? 0));
  return { terminations, weights };
}

/** @throws {DrainError} where the value is not one that `learn` gave. */
export function priorOf(learnt: Learnt | undefined): number[] {
  if (learnt === undefined) return unlearntPrior();
  const weights: unknown = learnt?.weights;
  if (!Array.isArray(weights) || weights.length !== pictureCount)
    throw bad(`must have ${pictureCount} weights`);
  const prior = weights.map((weight: unknown) => {
    if (typeof weight !== "number" || !Number.isFinite(weight) || weight < 0)
      throw bad(`${String(weight)} is not a weight`);
    return weight;
  });
  const sum = prior.reduce((total, weight) => total + weight, 0);
  if (sum <= 0) throw bad("all weights are 0");
  return prior.map((weight) => weight / sum);
}

function bad(problem: string): DrainError {
  return new DrainError("LAMEDUCK_BAD_NUMBER", "learnt", problem);
}
