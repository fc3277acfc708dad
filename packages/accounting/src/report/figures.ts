import { few } from "../statistics.ts";
import type { Quantiles, RemedyResult } from "../model/results.ts";
import { heldAgainstPods } from "./verdict.ts";
import { whole } from "../words.ts";

/** The name of the row. */
export function titleOf({ remedy, ownLameduck }: RemedyResult): string {
  if (!ownLameduck) return remedy;
  return remedy === "nothing" ? "as shipped" : `${remedy} (own lameduck)`;
}

/** Seconds without their unit: "0.04", "3.2", "15.4". */
export function seconds(milliseconds: number): string {
  const value = milliseconds / 1_000;
  if (value === 0) return "0";
  return value < 0.095 ? value.toFixed(2) : value.toFixed(1);
}

/** Terminations with load through them: the only ones that prove anything. */
export function testedOf({ terminations, untested = 0 }: RemedyResult): number {
  return terminations - untested;
}

/** p50/p90/max or the like, in seconds; a dash where there is no value. */
export function secondsOf(quantiles: Quantiles, ...which: ("p50" | "p90" | "max")[]): string {
  if (quantiles.count === 0) return "-";
  return which.map((name) => seconds(quantiles[name])).join("/");
}

/** On new + on pooled connections, as far as it is held against the pods. */
export function lostOf(result: RemedyResult): string {
  const { lost, lostNew, lostPooled } = heldAgainstPods(result);
  return lost === 0 ? "0" : `${whole(lostNew)}+${whole(lostPooled)}`;
}

/**
 * Mean and interval: "49.6 [41.2, 58.1]"; of few terminations mean, least and most: "49.6 (41..58)"; where nothing was lost, the share of
 * terminations that may: "0 (<3.0%)".
 */
export function perTerminationOf(result: RemedyResult): string {
  const { mean, low, high } = result.lostPerTermination;
  const tested = testedOf(result);
  if (tested === 0) return "-";
  if (mean === 0) return heldAgainstPods(result).lost > 0 ? "0" : `0 (<${percent(high)})`;
  if (tested === 1) return short(mean);
  if (tested >= few) return `${short(mean)} [${short(low)}, ${short(high)}]`;
  const each = result.each.filter(({ untested }) => untested === undefined).map(({ lost }) => lost);
  return `${short(mean)} (${whole(Math.min(...each))}..${whole(Math.max(...each))})`;
}

/** An upper bound in percent, rounded up: "fewer than 0.6 %" would claim more than 0.649 % does. */
export function percent(bound: number, space = ""): string {
  const digits = bound < 0.1 ? 1 : 0;
  // The subtrahend keeps 0.95 at 95 %: as a product it is a hair more.
  const rounded = Math.ceil(bound * 100 * 10 ** digits - 1e-9) / 10 ** digits;
  return `${rounded.toFixed(digits)}${space}%`;
}

/** Three figures at most. */
export function short(value: number): string {
  if (value === 0) return "0";
  if (value < 10) return value.toFixed(value < 0.095 ? 2 : 1);
  return value < 99.95 ? value.toFixed(1) : whole(Math.round(value));
}
