import { expectedLossOfAggregate } from "./evidence.ts";
import { counted, laggards, hypothesisCount, step } from "./hypotheses.ts";

/** What was seen since the deletion of senders that are not told apart. */
export interface AggregateSeen {
  /** No fewer than there are. */
  readonly count: number;
  /** No less than all of them send together. */
  readonly rate: number;
  /** Time from the deletion to the last arrival of any; 0 if there was none. */
  readonly last: number;
  /** Those of them whose rates are known. */
  readonly known: number;
  readonly knownRate: number;
  /** No fewer than of those have sent since the deletion. */
  readonly late: number;
}

/** What a hypothesis makes of an aggregate. */
export interface AggregateVerdict {
  readonly loss: number;
  /** Logarithm of how likely it makes what was seen, at most; and by how much that may be too high. */
  readonly log: number;
  readonly doubt: number;
}

/**
 * Senders that are not told apart: nobody knows which of them sent and which has been silent for how long. How likely a hypothesis makes what was
 * seen of them lies between
 *
 *     at most:   one of them made all late arrivals, and no silence proves anything
 *     at least:  each late arrival is the last of a sender of its own, and all have been silent throughout, at equal rates
 *
 * (the logarithm of `chanceOfSilence` is convex in the rate: equal rates explain silence worst). A hypothesis's loss is at most that of equal senders, see
 * `expectedLossOfAggregate`, laggards being as likely among all as in the latest to have sent. The verdict is the worst that lies
 * between: folding senders whose rates are known never makes the stop earlier. Where rates are not known, every arrival counts as a sender by
 * itself, which is caution enough: there it is "at most".
 */
export function weighAggregate(
  aggregate: AggregateSeen,
  now: number,
  begin: number,
  m: number,
  convergence: number,
): readonly [usual: AggregateVerdict, withLaggards: AggregateVerdict] {
  const { count, rate, last, known, knownRate, late } = aggregate;
  if (begin >= now) {
    const toCome = counted(m + begin - now, convergence);
    const waiting = { loss: rate * toCome, log: 0, doubt: knownRate * now };
    return [waiting, waiting];
  }
  const slow = step * m;
  const since = now - begin;
  const still = Math.max(0, last - begin);
  const others = Math.max(0, late - 1);
  const silent = (mean: number): number =>
    known > 0 ? known * Math.log(chanceOfSilence(since, knownRate / known, mean)) - knownRate * begin : 0;
  const lossOf = (mean: number): number =>
    (expectedLossOfAggregate(count, rate, since - still, mean) * counted(mean, convergence)) / mean;
  const usualLoss = lossOf(m);
  // Relative to a laggard's chance of having sent so long, which cannot vanish in rounding.
  const usual = (1 - laggards) * Math.exp(-still / m + still / slow);
  const lagging = laggards / (usual + laggards);
  const survived = Math.log(usual + laggards) - still / slow;
  const slowLoss = lossOf(slow);
  return [
    { loss: usualLoss, log: -still / m, doubt: others * (still / m) - silent(m) },
    {
      loss: (1 - lagging) * usualLoss + lagging * slowLoss,
      log: survived,
      doubt: -others * survived - silent(slow),
    },
  ];
}

/**
 * The highest mean loss that weights within the doubts allow: hypotheses that lose more than it count for the most they may, the others for the
 * least. Each round raises it, and there are no more rounds than hypotheses; a few do.
 */
export function worstLoss(logs: Float64Array, losses: Float64Array, doubts: Float64Array): number {
  let worst = -Infinity;
  for (let round = 0; round < hypothesisCount; round++) {
    let highest = -Infinity;
    const weights = logs.map((log, index) => {
      const weight = losses[index]! > worst ? log : log - doubts[index]!;
      highest = Math.max(highest, weight);
      return weight;
    });
    let sum = 0;
    let loss = 0;
    for (let index = 0; index < hypothesisCount; index++) {
      const weight = Math.exp(weights[index]! - highest);
      sum += weight;
      loss += weight * losses[index]!;
    }
    if (!(loss / sum > worst)) break;
    worst = loss / sum;
  }
  return worst;
}

/** The chance that a Poisson sender which may let go at any time, after m on average, is silent for so long. */
function chanceOfSilence(silence: number, rate: number, m: number): number {
  const alive = Math.exp(-rate * silence - silence / m);
  return alive + (1 - alive) / (1 + rate * m);
}
