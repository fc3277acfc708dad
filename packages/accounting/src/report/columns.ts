import type { RemedyResult } from "../model/results.ts";
import { lostOf, perTerminationOf, secondsOf, titleOf, whole } from "./figures.ts";
import type { Column } from "./grid.ts";

/** Of the comparison; the last is the verdict. */
export const columns: readonly Column[] = [
  { title: "remedy", align: "left" },
  { title: "pods", align: "right" },
  { title: "lost", align: "right" },
  { title: "lost per pod", align: "right" },
  { title: "slow", align: "right" },
  { title: "hold s", align: "right" },
  { title: "oracle s", align: "right" },
  { title: "killed", align: "right" },
  { title: "verdict", align: "left" },
];

/** The cells of a row, all but the verdict. */
export function texts(result: RemedyResult): string[] {
  if (result.skipped !== undefined) return [titleOf(result), ...columns.slice(2).map(() => "")];
  return [
    titleOf(result),
    whole(result.terminations),
    lostOf(result),
    perTerminationOf(result),
    whole(result.slow),
    secondsOf(result.hold, "p50", "p90", "max"),
    secondsOf(result.oracle, "p50", "max"),
    whole(result.killed),
  ];
}
