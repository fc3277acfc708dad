import { ofNoPod } from "../model/cause.ts";
import type { RemedyResult } from "../model/results.ts";

/**
 * The verdict on a remedy. `loses`: requests that are held against its pods. `overruns`: nothing was lost, but pods were killed at the
 * end of their grace period, so that hooks did not run and whatever was open
 * would have been cut. `untested`: nothing was terminated, some termination had no load through it, or the run was
 * interrupted, and nothing is known to be worse.
 */
export type Verdict = "no loss" | "overruns" | "loses" | "untested" | "skipped";

export function verdictOf(result: RemedyResult): Verdict {
  if (result.skipped !== undefined) return "skipped";
  if (heldAgainstPods(result).lost > 0) return "loses";
  const { terminations, untested = 0, sent, interrupted, notSentBecause } = result;
  // The outcome of requests without a record is unknown.
  if ((notSentBecause["missing"] ?? 0) > 0) return "untested";
  if (interrupted !== undefined || terminations === 0 || untested > 0 || sent === 0) return "untested";
  return result.killed > 0 ? "overruns" : "no loss";
}

/** What is held against the pods: not what senders cut by themselves, nor what fails at all times. No remedy can keep it. */
export function heldAgainstPods({ lostRequests }: RemedyResult): {
  lost: number;
  lostNew: number;
  lostPooled: number;
} {
  const own = lostRequests.filter((lost) => !ofNoPod.has(lost.cause));
  const lostPooled = own.filter((lost) => lost.mode === "pooled").length;
  return { lost: own.length, lostNew: own.length - lostPooled, lostPooled };
}

/** The remedies that lost nothing and stopped in time, the shortest hold first. */
export function lossless(remedies: readonly RemedyResult[]): RemedyResult[] {
  return remedies
    .filter((one) => verdictOf(one) === "no loss")
    .sort((a, b) => a.hold.p50 - b.hold.p50 || a.hold.p90 - b.hold.p90);
}
