import { causes, type Cause } from "../causes/cause.ts";
import type { LostRequest, RemedyResult } from "../model/results.ts";

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
