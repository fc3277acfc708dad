import { delays, means, unlearntPrior } from "./hypotheses.ts";

/** A sender of which somebody knows when it let go, or until when it had not. */
export interface MeasuredSender {
  /** Milliseconds since the deletion. */
  readonly at: number;
  readonly hasLetGo: boolean;
}

/** Stands for ln 0: sums with it are still numbers. */
const impossible = -1_000;

/**
 * The lesson of a termination whose senders were measured: the posterior of the hypotheses, as `Drain.lesson` gives it where they had to be inferred
 * from arrivals. A report comes some time after its sender has let go, so that this environment looks slower than it is, never faster.
 * @param convergence the scale of the hypotheses, milliseconds.
 */
export function measuredLesson(senders: Iterable<MeasuredSender>, convergence: number): number[] {
  const logs = unlearntPrior().map((weight) => Math.log(weight));
  for (const sender of senders)
    for (const [d, delay] of delays.entries())
      for (const [m, mean] of means.entries()) {
        const index = d * means.length + m;
        logs[index] = (logs[index] ?? 0) + likelihood(sender, delay * convergence, mean * convergence);
      }
  const highest = Math.max(...logs);
  const weights = logs.map((log) => Math.exp(log - highest));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/** Its logarithm: nobody lets go before the delay is over, then each after an exponential time. */
function likelihood({ at, hasLetGo }: MeasuredSender, delay: number, mean: number): number {
  if (at < delay) return hasLetGo ? impossible : 0;
  return (delay - at) / mean - (hasLetGo ? Math.log(mean) : 0);
}
