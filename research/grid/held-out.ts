import { heldOutAxes, terminationsText } from "./cells.ts";
import { gridMargins, ladder, type PlayedCell, type Point } from "./play.ts";
import { mean } from "../../packages/simulator/src/simulate/statistics.ts";
import { figure } from "./table.ts";
import { judge } from "./verdict.ts";

/**
 * The rule where its constants were not tuned. Its opponents know in hindsight which cells a row has. Each has one setting for
 * all of them: the shortest that loses no more than the rule does, on average.
 */
export function renderHeldOut(played: readonly PlayedCell[], terminations: number, seed: number): string {
  const judged = played.map(judge);
  const rates = [...heldOutAxes.rates];
  return [
    "## Held out",
    "",
    `${played.length} cells that the constants were not tuned on, by \`npm run grid -w research -- --held-out\`: ${heldOutAxes.presets.join(", ")} x ${heldOutAxes.senders.join(", ")} senders x ${rates.join(", ")}/s x ${heldOutAxes.traffic.join(", ")} (\`burstier\`: a coefficient of variation of 5; \`periodic\`: a beat with 10 % of jitter). ${terminationsText(terminations)}, seed ${seed}. Losing less than ${gridMargins.loss}: ${judged.filter(({ withinBudget }) => withinBudget.adaptive).length} of ${played.length} (learnt: ${judged.filter(({ withinBudget }) => withinBudget.learnt).length}); on the frontier of those tuned to each cell: ${judged.filter(({ onFrontier }) => onFrontier.adaptive).length}; within the bound of the oracle: ${judged.filter(({ nearOracle }) => nearOracle === true).length} of ${judged.filter(({ nearOracle }) => nearOracle !== undefined).length}.`,
    "",
    "Beside it a fixed delay and a quiet window that know in hindsight which cells a row has: one setting for all of them, the shortest on a ladder of 17 that loses no more than `adaptive` does there on average. Where all is over within 10 s, as here, a delay of 12 s is hard to beat. Loss / hold in s:",
    "",
    "| rate/s | oracle | adaptive | learnt | fixed | quiet |",
    "|---|---|---|---|---|---|",
    ...rates.map((rate) =>
      row(
        String(rate),
        played.filter((cell) => cell.rate === rate),
      ),
    ),
    row(
      "5 and more",
      played.filter(({ rate }) => rate >= 5),
    ),
    row("all", played),
    "",
    "And by the preset:",
    "",
    "| preset | oracle | adaptive | learnt | fixed | quiet |",
    "|---|---|---|---|---|---|",
    ...heldOutAxes.presets.map((preset) =>
      row(
        preset,
        played.filter((cell) => cell.preset === preset),
      ),
    ),
    "",
    "And by the traffic:",
    "",
    "| traffic | oracle | adaptive | learnt | fixed | quiet |",
    "|---|---|---|---|---|---|",
    ...heldOutAxes.traffic.map((traffic) =>
      row(
        traffic,
        played.filter((cell) => cell.traffic === traffic),
      ),
    ),
    "",
  ].join("\n");
}

function row(name: string, cells: readonly PlayedCell[]): string {
  const adaptive = meanPoint(cells.map((cell) => cell.adaptive));
  const learnt = meanPoint(cells.map((cell) => cell.learnt));
  return `| ${name} | ${(mean(cells.map(({ oracle }) => oracle)) / 1_000).toFixed(1)} | ${text(adaptive)} | ${text(learnt)} | ${equal(
    cells.map(({ fixed }) => fixed),
    adaptive,
  )} | ${equal(
    cells.map(({ quiet }) => quiet),
    adaptive,
  )} |`;
}

/** The shortest setting that loses no more on average, and what it holds. */
function equal(points: readonly (readonly Point[])[], to: Point): string {
  for (const [index, setting] of ladder.entries()) {
    const point = meanPoint(points.map((cell) => cell[index]!));
    if (point.lost <= to.lost) return `${text(point)} (${setting / 1_000} s)`;
  }
  return "none up to 60 s";
}

function meanPoint(points: readonly Point[]): Point {
  return { lost: mean(points.map(({ lost }) => lost)), hold: mean(points.map(({ hold }) => hold)) };
}

function text({ lost, hold }: Point): string {
  return `${figure(lost)} / ${(hold / 1_000).toFixed(1)}`;
}
