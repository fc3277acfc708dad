import { count, whole } from "../words.ts";
import { causes, type Cause } from "../model/cause.ts";
import type { LostRequest, RemedyResult, Results } from "../model/results.ts";
import { percent, testedOf } from "./figures.ts";
import { reservations } from "./reservations.ts";
import { boundAfterNone, few } from "../statistics.ts";

/** What the columns mean, and what has to be known beside the figures. */
export function explanations(remedies: readonly RemedyResult[], more: readonly string[] = []): string[] {
  return [
    "pods: terminated pods. lost: on new + on pooled connections. lost per pod: mean and 95 % interval; of fewer than " +
      `${few} pods mean and (least..most); after 0, the greatest share of pods that may lose anything (95 %). ` +
      "slow: answered more than 1 s late. hold: p50/p90/max until the pod stopped accepting. " +
      "oracle: p50/max until the last sender stopped sending. killed: by SIGKILL, when the grace period was over. " +
      "`lameduck help WORD` explains a word or a cause (C2).",
    ...reservations(remedies),
    ...more,
  ];
}

/** Shares of terminations that are worth knowing to be exceeded by no loss. */
const worthwhile = [0.05, 0.01];

/** After a bound such as `0 (<53%)`: how many rollouts give a better one, if none of them loses anything. */
export function betterBounds({ tool, remedies, settings }: Results): string[] {
  const { rollouts } = settings;
  const bounds = remedies.flatMap((one) => (one.lostPerTermination.basis === "bound" ? [testedOf(one)] : []));
  if (tool !== "lab" || typeof rollouts !== "number" || bounds.length === 0) return [];
  const tested = Math.max(...bounds);
  const pods = tested / rollouts;
  const better = worthwhile
    .filter((share) => boundAfterNone(tested) > share)
    .map((share) => Math.ceil(Math.log(0.05) / Math.log(1 - share) / pods))
    .map(
      (times) =>
        `--rollouts ${times} (${count(times * pods, "pod")}) <${percent(boundAfterNone(times * pods))}`,
    );
  if (better.length === 0) return [];
  return [
    `0 (<${percent(boundAfterNone(tested))}) is the bound of ${count(tested, "pod")}; without a loss ${better.join(", ")}.`,
  ];
}

/** Causes shown per remedy; the rest is in the results document. */
const mostCauses = 3;

interface ShownCause {
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
    shown: all.slice(0, mostCauses).map(({ cause, words, lost, example, sender }) => {
      const isMost = sender.lost > lost / 2 && sender.lost < lost;
      const by = isMost ? `, ${whole(sender.lost)} of them from ${sender.name}` : "";
      return {
        lost,
        words: `${cause.startsWith("C") ? `${cause} ` : ""}${words}${by}`,
        example: example.sentence,
      };
    }),
    rest: all.slice(mostCauses).reduce((sum, one) => sum + one.lost, 0),
  };
}

/** Texts of a report without remedies to choose from: what the rows are, notes, and a conclusion instead of advice. */
export interface Wording {
  readonly title: string;
  readonly notes: readonly string[];
  readonly conclusion: string;
}

/** One cause of a remedy's losses, with a typical example. */
export interface Why {
  readonly cause: Cause;
  readonly words: string;
  readonly lost: number;
  readonly example: LostRequest;
  /** The sender that lost most by this cause, and how many. */
  readonly sender: { readonly name: string; readonly lost: number };
}

/** The causes of a remedy's losses, the most frequent first. */
export function whyOf({ lostRequests, each }: RemedyResult): Why[] {
  return [...Map.groupBy(lostRequests, (lost) => lost.cause)]
    .map(([cause, lost]) => {
      const senders = [...Map.groupBy(lost, (one) => one.sender)].sort((a, b) => b[1].length - a[1].length);
      const age = ({ at, termination }: LostRequest): number =>
        at - (each[termination ?? -1]?.deletedAt ?? 0);
      // The one in the middle of the way from deletion to end is more typical than the first or the last.
      const typical = [...lost].sort((a, b) => age(a) - age(b))[Math.floor(lost.length / 2)]!;
      return {
        cause,
        words: causes[cause],
        lost: lost.length,
        example: typical,
        sender: { name: senders[0]![0], lost: senders[0]![1].length },
      };
    })
    .sort((a, b) => b.lost - a.lost);
}
