import type { RemedyResult, TerminationResult } from "./model/results.ts";
import { startsOf } from "./starts.ts";
import { perTermination, quantiles } from "./statistics.ts";
import { tally } from "./terminations.ts";

/** The figures of a result that follow from its terminations and its lost requests, so that they can never contradict those. */
export function summarise(
  facts: Omit<RemedyResult, keyof ReturnType<typeof derive>>,
  seed: number,
): RemedyResult {
  return { ...facts, ...derive(facts, seed) };
}

function derive(
  { each, lostRequests, newPods }: Pick<RemedyResult, "each" | "lostRequests" | "newPods">,
  seed: number,
) {
  const tested = each.filter((one) => one.untested === undefined);
  const losses = tested.map((one) => one.lost);
  const pooled = lostRequests.filter((lost) => lost.mode === "pooled").length;
  return {
    terminations: each.length,
    untested: each.length - tested.length,
    lost: lostRequests.length,
    lostByCause: tally(lostRequests.map((lost) => lost.cause)),
    lostByOutcome: tally(lostRequests.map((lost) => lost.outcome)),
    lostNew: lostRequests.length - pooled,
    lostPooled: pooled,
    lostOutside: lostRequests.filter((lost) => lost.termination === undefined).length,
    killed: each.filter((one) => one.killed).length,
    hold: quantiles(each.map((one) => one.hold)),
    oracle: quantiles(each.flatMap((one) => one.oracle ?? [])),
    weff: weff(tested),
    lostPerTermination: perTermination(losses, seed),
    ...(newPods === undefined ? {} : { starts: startsOf(newPods, lostRequests) }),
  };
}

/** Sums over sums, so that a full rollout of N replicas loses W_eff times the whole rate, whatever N is. */
function weff(each: readonly TerminationResult[]): number {
  const rated = each.filter((one) => one.rate !== undefined);
  const rate = rated.reduce((sum, one) => sum + one.rate!, 0);
  return rate > 0 ? rated.reduce((sum, one) => sum + one.lost, 0) / rate : 0;
}

/** A remedy that could not be run, with the reason. */
export function skippedRemedy(remedy: string, description: string, reason: string): RemedyResult {
  const nothing = {
    sent: 0,
    notSent: 0,
    notSentBecause: {},
    slow: 0,
    duration: 0,
    each: [],
    lostRequests: [],
  };
  return { ...summarise({ remedy, description, ...nothing }, 0), skipped: reason };
}
