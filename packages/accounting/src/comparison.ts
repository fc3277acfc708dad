import { random } from "./model/random.ts";
import type { RemedyResult, Results } from "./model/results.ts";
import { titleOf } from "./report/figures.ts";
import { average } from "./statistics.ts";

/** What can be said of the losses of one remedy in two runs. */
export type Difference = "more" | "fewer" | "none-shown" | "untested";

/** One remedy in two runs. */
export interface ComparedRemedy {
  readonly remedy: string;
  readonly before: Side;
  readonly after: Side;
  readonly difference: Difference;
  /** How often chance alone gives so large a difference of the means; undefined where a run tested nothing. */
  readonly p: number | undefined;
}

interface Side {
  /** With load through them. */
  readonly terminations: number;
  readonly lost: number;
  readonly lostPerTermination: number;
  /** Median, milliseconds. */
  readonly hold: number;
}

/** Runs of the same remedies. */
export interface ComparedRuns {
  readonly remedies: readonly ComparedRemedy[];
  /** Names that stand in one run alone. */
  readonly onlyBefore: readonly string[];
  readonly onlyAfter: readonly string[];
}

/** A difference that chance gives more often is none that was shown. */
export const significance = 0.05;
const draws = 9_999;

/** Compares what each remedy lost per termination: terminations are the unit, for requests of one termination fall together. */
export function compareRuns(before: Results, after: Results): ComparedRuns {
  const named = (results: Results): Map<string, RemedyResult> =>
    new Map(results.remedies.map((one) => [titleOf(one), one]));
  const [former, later] = [named(before), named(after)];
  return {
    remedies: [...former].flatMap(([name, one]) => {
      const other = later.get(name);
      return other ? [compared(name, one, other)] : [];
    }),
    onlyBefore: [...former.keys()].filter((name) => !later.has(name)),
    onlyAfter: [...later.keys()].filter((name) => !former.has(name)),
  };
}

function compared(remedy: string, before: RemedyResult, after: RemedyResult): ComparedRemedy {
  const [former, later] = [lossesOf(before), lossesOf(after)];
  const sides = { before: sideOf(before, former), after: sideOf(after, later) };
  if (former.length === 0 || later.length === 0)
    return { remedy, ...sides, difference: "untested", p: undefined };
  const p = chanceOf(former, later);
  const isMore = sides.after.lostPerTermination > sides.before.lostPerTermination;
  return { remedy, ...sides, difference: p >= significance ? "none-shown" : isMore ? "more" : "fewer", p };
}

const lossesOf = ({ each }: RemedyResult): number[] =>
  each.filter(({ untested }) => untested === undefined).map(({ lost }) => lost);

const sideOf = ({ hold }: RemedyResult, losses: readonly number[]): Side => ({
  terminations: losses.length,
  lost: losses.reduce((sum, one) => sum + one, 0),
  lostPerTermination: average(losses),
  hold: hold.p50,
});

/** Permutation test of the means, of both sides: how often does a random split of all terminations differ as much? */
function chanceOf(before: readonly number[], after: readonly number[]): number {
  const all = [...before, ...after];
  const total = all.reduce((sum, one) => sum + one, 0);
  const difference = (first: number): number =>
    Math.abs(first / before.length - (total - first) / after.length);
  const seen = difference(before.reduce((sum, one) => sum + one, 0));
  if (seen === 0) return 1;
  const source = random(1, "permutation");
  let asLarge = 0;
  for (let draw = 0; draw < draws; draw++) {
    let first = 0;
    for (let i = 0; i < before.length; i++) {
      const j = i + Math.floor(source.next() * (all.length - i));
      [all[i], all[j]] = [all[j] ?? 0, all[i] ?? 0];
      first += all[i] ?? 0;
    }
    // Sums of the same numbers in another order may differ in their last digit.
    if (difference(first) >= seen - 1e-9) asLarge++;
  }
  return (asLarge + 1) / (draws + 1);
}
