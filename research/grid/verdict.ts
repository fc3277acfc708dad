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
}

export function judge(cell: PlayedCell): CellVerdict {
  const { loss } = gridMargins;
  const best =
    cell.bestFixed.hold <= cell.bestQuiet.hold
      ? { ...cell.bestFixed, policy: "sleep" }
      : { ...cell.bestQuiet, policy: "quiet" };
  const fits = (point: Point): boolean => isOnFrontier(point, best.hold) && point.lost <= loss;
  return {
    best,
    withinBudget: { adaptive: cell.adaptive.lost <= loss, learnt: cell.learnt.lost <= loss },
    onFrontier: { adaptive: fits(cell.adaptive), learnt: fits(cell.learnt) },
    nearOracle: isInformative(cell, cell.convergence) ? isNearOracle(cell.adaptive, cell.oracle) : undefined,
  };
}

/** Not longer than the shortest hold of the others, within the margins. */
export function isOnFrontier({ hold }: Point, shortest: number): boolean {
  return hold <= shortest * gridMargins.factor + gridMargins.slack;
}

/** Whether a sender says enough while it converges for the hold to be held against the oracle. */
export function isInformative({ rate, senders }: Cell, convergence: number): boolean {
  return ((rate / 1_000) * convergence) / senders >= gridMargins.informative;
}

export function isNearOracle({ hold }: Pick<Point, "hold">, oracle: number): boolean {
  return hold <= gridMargins.oracleFactor * oracle + gridMargins.oracleSlack;
}

/** Why a cell is not on the frontier, in the words of the page. */
export function reasonOf(cell: Cell & Pick<PlayedCell, "convergence">): string {
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
