import { heldAgainstPods, verdictOf, type RemedyResult } from "@lameduck/accounting";
import { exitCodes } from "./exit-codes.ts";

/** A remedy may lose something, which is known, and have terminations of which nothing is. */
function isUntested(result: RemedyResult): boolean {
  return ["untested", "skipped"].includes(verdictOf(result)) || (result.untested ?? 0) > 0;
}

/** What the results of a run that came to its end say. A remedy that could not be run was not tested. */
export function exitCodeOfResults(
  results: readonly RemedyResult[],
  { allowLoss = false }: { readonly allowLoss?: boolean | undefined },
): number {
  if (!allowLoss && results.some((result) => heldAgainstPods(result).lost > 0)) return exitCodes.losses;
  return results.some(isUntested) ? exitCodes.untested : exitCodes.clean;
}
