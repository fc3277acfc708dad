import type { RemedyResult } from "../model/results.ts";
import { few } from "../statistics.ts";
import { whole } from "./figures.ts";
import { reservations } from "./reservations.ts";
import { whyOf } from "./why.ts";

/** What the columns mean, and what has to be known beside the figures. */
export function explanations(remedies: readonly RemedyResult[], more: readonly string[] = []): string[] {
  return [
    "pods: terminated pods. lost: on new + on pooled connections. lost per pod: mean and 95 % interval; of fewer than " +
      `${few} pods mean and (least..most); after 0, the greatest share of pods that may lose anything (95 %). ` +
      "slow: answered more than 1 s late. hold: p50/p90/max until the pod stopped accepting. " +
      "oracle: p50/max until the last sender stopped choosing the pod. `lameduck help C2` explains a cause.",
    ...reservations(remedies),
    ...more,
  ];
}

/** Causes shown per remedy; the rest is in the results document. */
const most = 3;

export interface ShownCause {
  readonly lost: number;
  readonly words: string;
  readonly example: string;
}

export function causesOf(result: RemedyResult): {
  readonly shown: readonly ShownCause[];
  readonly rest: number;
} {
  const all = whyOf(result);
  return {
    shown: all.slice(0, most).map(({ cause, words, lost, example, sender }) => {
      const isMost = sender.lost > lost / 2 && sender.lost < lost;
      const by = isMost ? `, ${whole(sender.lost)} of them from ${sender.name}` : "";
      return {
        lost,
        words: `${cause.startsWith("C") ? `${cause} ` : ""}${words}${by}`,
        example: example.sentence,
      };
    }),
    rest: all.slice(most).reduce((sum, one) => sum + one.lost, 0),
  };
}

/** Texts of a report without remedies to choose from: what the rows are, notes, and a conclusion instead of advice. */
export interface Wording {
  readonly title: string;
  readonly notes: readonly string[];
  readonly conclusion: string;
}
