import type { Cell } from "./cells.ts";
import { gridMargins, type PlayedCell, type Point } from "./play.ts";

export interface CellVerdict {
  /** Shortest hold among tuned fixed delays and tuned quiet windows that lose no more than the margin. */
  readonly best: Point & { readonly policy: string };
  readonly withinBudget: { readonly adaptive: boolean; readonly learnt: boolean };
  /** Not longer than the best tuned one, within the margins. */
  readonly onFrontier: { readonly adaptive: boolean; readonly learnt: boolean };
  /** Against the oracle, where there is evidence enough; undefined elsewhere. */
  readonly nearOracle: boolean | undefined;
  /** Policies with one setting for the whole grid that lose no more and hold less. */
  readonly beatenBy: readonly string[];
}

export function judge(cell: PlayedCell): CellVerdict {
  const { loss, factor, slack, informative, oracleFactor, oracleSlack } = gridMargins;
  const best =
    cell.bestFixed.hold <= cell.bestQuiet.hold
      ? { ...cell.bestFixed, policy: "sleep" }
      : { ...cell.bestQuiet, policy: "quiet" };
  const fits = (point: Point): boolean => point.hold <= best.hold * factor + slack && point.lost <= loss;
  const evidence = ((cell.rate / 1_000) * cell.convergence) / cell.senders;
  const others: Record<string, Point> = {
    "sleep 5": cell.sleep5,
    "sleep 15": cell.sleep15,
    "quiet 5": cell.quiet5,
    "quiet 15": cell.quiet15,
    knative: cell.knative,
    istio: cell.istio,
    "w*": cell.wStar,
  };
  const allowed = Math.max(cell.adaptive.lost, loss);
  return {
    best,
    withinBudget: { adaptive: cell.adaptive.lost <= loss, learnt: cell.learnt.lost <= loss },
    onFrontier: { adaptive: fits(cell.adaptive), learnt: fits(cell.learnt) },
    nearOracle:
      evidence >= informative ? cell.adaptive.hold <= oracleFactor * cell.oracle + oracleSlack : undefined,
    beatenBy: Object.entries(others)
      .filter(([, point]) => point.lost <= allowed && cell.adaptive.hold > point.hold * factor + slack)
      .map(([name]) => name),
  };
}

/** Why a cell is not on the frontier, in the words of the page. */
export function reasonOf(cell: PlayedCell): string {
  const each = ((cell.rate / 1_000) * cell.convergence) / cell.senders;
  const all = (cell.rate / 1_000) * cell.convergence;
  if (all < 1) return "nothing to see";
  if (cell.traffic === "snat" && cell.senders > 1) return "hidden senders";
  if (cell.traffic === "bursty") return "bursts";
  if (cell.traffic === "tiny" || each < 3) return "small senders";
  return "margin of caution";
}

/** Arrivals in the two minutes that a pod watches before its termination. */
const watchedSeconds = 120;

/** Why a cell loses more than the margin, in the words of the page. */
export function lossReasonOf({ rate, traffic, senders }: Cell, learntLost: number): string {
  if (rate * watchedSeconds < 3) return "next to no traffic";
  if (traffic === "bursty") return "lulls";
  if (traffic === "snat" && senders > 1 && rate >= 1) return "hidden senders that lag";
  return learntLost <= gridMargins.loss ? "slower than believed" : "other";
}
