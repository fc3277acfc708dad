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
 * @param quicker how many senders there are besides: they have let go before all others that have.
 */
export function measuredLesson(
  senders: readonly MeasuredSender[],
  convergence: number,
  quicker = 0,
): number[] {
  const logs = unlearntPrior().map((weight) => Math.log(weight));
  const first = Math.min(...senders.filter(({ hasLetGo }) => hasLetGo).map(({ at }) => at));
  for (const [d, delay] of delays.entries())
    for (const [m, mean] of means.entries()) {
      const [from, scale] = [delay * convergence, mean * convergence];
      let log = quicker > 0 ? quicker * hadLetGo(first, from, scale) : 0;
      for (const sender of senders) log += likelihood(sender, from, scale);
      const index = d * means.length + m;
      logs[index] = (logs[index] ?? 0) + log;
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

/** The logarithm of the probability that one has let go by then. */
function hadLetGo(by: number, delay: number, mean: number): number {
  return by <= delay ? impossible : Math.max(impossible, Math.log(-Math.expm1((delay - by) / mean)));
}
