import { gridAxes, terminationsText, type Cell } from "./cells.ts";
import { mean } from "../../packages/simulator/src/simulate/statistics.ts";
import { gridMargins, type PlayedCell, type Point } from "./play.ts";
import { isOnFrontier, judge, lossReasonOf, reasonOf } from "./verdict.ts";

const reasons: Record<string, string> = {
  "nothing to see":
    "Fewer than one stale arrival is expected, so no rule can learn anything, and the rule waits for the tail that the default belief allows. A fixed delay tuned to this environment needs no such caution. Mended by telling the rule what the tuner knows, `convergence` and `cap` ([by how much](#tuned-to-the-preset)), and by `learnt`.",
  "small senders":
    "Each sender makes fewer than three arrivals while it converges. All senders together show when most have gone, but not that all have. Mended by `convergence` and `cap`, by `learnt`, and by a larger loss budget.",
  bursts:
    "Silences inside bursty traffic prove little. Mended by `cap`, by more history, and by a larger loss budget.",
  "hidden senders":
    "Several senders behind one address: the rule must follow the falling rate to its last gap. Mended by addresses that tell senders apart, and by `cap`.",
  "margin of caution":
    "The rule allows for an address being shared, which is what keeps it safe elsewhere; the tuned rule knows that none is. Mended by `cap`, where the environment has an end.",
};

/** Why cells lose more than the margin, and what would mend them. */
const lossReasons: Record<string, string> = {
  "next to no traffic":
    "A pod sees about one arrival in the two minutes before its deletion, most pods none: nothing is known of who sends, and the rule lets go when the little that the default belief expects is over. What is lost is at most a request in ten terminations. Mended by a floor as long as the environment converges, which is what `advise` sets where silence cannot speak; by nothing that is learnt from arrivals.",
  lulls:
    "A bursty sender makes a dozen arrivals in the two minutes that were watched, in one burst, two or three: if the deletion falls into a lull, little speaks for it, and the next burst comes to a closed pod, all of it. Or one of 50 and more senders lags: it is in a lull when the others have let go, and comes again after the stop. What earlier terminations teach is of convergence, not of bursts. Mended in a cluster by pods that have been watched for ten minutes (behind alb to a half), and altogether by a floor as long as the environment converges (5 s; 25 s behind alb).",
  "hidden senders that lag":
    "Several senders behind one address: when most have let go, the falling rate must be followed to the one that lags, whose own habit was never seen. Mended by addresses that tell senders apart (`externalTrafficPolicy: Local`, a proxy's own address), for most also by `learnt`.",
  "slower than believed":
    "Convergence of 15 s on average, or with a tail of 23 s, against a default belief of 4 s, and too few arrivals to correct it. Mended by `learnt` in every cell, or by `convergence` where it is known.",
};

export function renderGrid(played: readonly PlayedCell[], terminations: number, seed: number): string {
  const judged = played.map((cell) => ({ cell, verdict: judge(cell) }));
  const count = (test: (one: (typeof judged)[number]) => boolean): number => judged.filter(test).length;
  const informative = count(({ verdict }) => verdict.nearOracle !== undefined);
  const lines = [
    "# The grid",
    "",
    "Made by `npm run grid -w research`; the rule is explained in [decision.md](../../docs/contributing/decision.md).",
    "",
    `${played.length} cells: ${gridAxes.presets.join(", ")} x ${gridAxes.senders.join(", ")} senders x ${gridAxes.rates.join(", ")} new connections a second to the pod x ${gridAxes.traffic.join(", ")}. ${terminationsText(terminations)}, seed ${seed}, floor 0, no cap, so that only the rule is seen. \`bursty\`: gaps with a coefficient of variation of 3. \`tiny\`: 300 clients, each behind one of the senders. \`snat\`: all senders behind one address.`,
    "",
    "Fixed before the first run were the budget, the margins and the opponents below. The rule's own constants (priors, bursts) were tuned while looking at cells of this grid, so none of it is held-out evidence:",
    "",
    `- Loss budget 0.001, all other settings at their defaults. A loss below ${gridMargins.loss} requests per termination counts as none.`,
    `- The opponents are a fixed delay and a quiet window, each tuned to the very cell in hindsight to the shortest hold that loses no more than that: better than anybody can have them. The rule is on the frontier where it holds at most ${gridMargins.factor} times as long plus ${gridMargins.slack} ms.`,
    `- Where a sender makes ${gridMargins.informative} arrivals while it converges, the hold is at most ${gridMargins.oracleFactor} x oracle + ${gridMargins.oracleSlack / 1_000} s.`,
    "- `learnt`: the same with what 25 earlier terminations of the cell taught.",
    "",
    "## Result",
    "",
    "| | adaptive, knowing nothing | learnt |",
    "|---|---|---|",
    `| cells that lose less than ${gridMargins.loss} | ${count(({ verdict }) => verdict.withinBudget.adaptive)} of ${played.length} | ${count(({ verdict }) => verdict.withinBudget.learnt)} of ${played.length} |`,
    `| on the frontier of the tuned ones | ${count(({ verdict }) => verdict.onFrontier.adaptive)} | ${count(({ verdict }) => verdict.onFrontier.learnt)} |`,
    `| within the bound of the oracle, of ${informative} cells with evidence | ${count(({ verdict }) => verdict.nearOracle === true)} | |`,
    "",
    "Opponents that know no more than the rule does, all of them told the preset, are [further down](#tuned-to-the-preset).",
    "",
    ...onePolicyForAll(played),
    ...byRate(played),
    ...byTraffic(judged),
    ...failures(judged),
    ...cellTables(judged),
  ];
  return `${lines.join("\n")}\n`;
}

/** Nobody tunes a delay per workload, traffic and hour: the same rule with the same setting everywhere is the honest comparison. */
function onePolicyForAll(played: readonly PlayedCell[]): string[] {
  const policies: [string, (cell: PlayedCell) => Point][] = [
    ["sleep 5", ({ sleep5 }) => sleep5],
    ["sleep 15", ({ sleep15 }) => sleep15],
    ["quiet 5", ({ quiet5 }) => quiet5],
    ["quiet 15", ({ quiet15 }) => quiet15],
    ["knative (quiet 30)", ({ knative }) => knative],
    ["istio exit-on-zero", ({ istio }) => istio],
    ["w*, told senders, rate and mean", ({ wStar }) => wStar],
    ["**adaptive**", ({ adaptive }) => adaptive],
    ["**adaptive, learnt**", ({ learnt }) => learnt],
  ];
  return [
    "One setting for the whole grid, mean over its cells:",
    "",
    "| policy | mean hold, s | mean loss | cells losing more than 0.01 | worst loss |",
    "|---|---|---|---|---|",
    ...policies.map(([name, of]) => {
      const points = played.map(of);
      return `| ${name} | ${(mean(points.map(({ hold }) => hold)) / 1_000).toFixed(1)} | ${figure(mean(points.map(({ lost }) => lost)))} | ${points.filter(({ lost }) => lost > gridMargins.loss).length} | ${figure(Math.max(...points.map(({ lost }) => lost)))} |`;
    }),
    "",
  ];
}

/** The mean over the grid weighs pods that see a request an hour like busy ones; by rate it says more. */
function byRate(played: readonly PlayedCell[]): string[] {
  const both = (points: Point[]): string =>
    `${figure(mean(points.map(({ lost }) => lost)))} / ${(mean(points.map(({ hold }) => hold)) / 1_000).toFixed(1)}`;
  return [
    "The same by rate, loss / hold in s:",
    "",
    "| rate/s | oracle | quiet 5 | quiet 15 | knative | adaptive | adaptive, learnt |",
    "|---|---|---|---|---|---|---|",
    ...gridAxes.rates.map((rate) => {
      const these = played.filter((cell) => cell.rate === rate);
      return `| ${rate} | ${(mean(these.map(({ oracle }) => oracle)) / 1_000).toFixed(1)} | ${both(these.map(({ quiet5 }) => quiet5))} | ${both(these.map(({ quiet15 }) => quiet15))} | ${both(these.map(({ knative }) => knative))} | ${both(these.map(({ adaptive }) => adaptive))} | ${both(these.map(({ learnt }) => learnt))} |`;
    }),
    "",
  ];
}

type Judged = readonly { cell: PlayedCell; verdict: ReturnType<typeof judge> }[];

function byTraffic(judged: Judged): string[] {
  return [
    "| traffic | cells | lose less than 0.01 | on the frontier | learnt: lose less | learnt: on the frontier |",
    "|---|---|---|---|---|---|",
    ...gridAxes.traffic.map((traffic) => {
      const these = judged.filter(({ cell }) => cell.traffic === traffic);
      const count = (test: (one: Judged[number]) => boolean): number => these.filter(test).length;
      return `| ${traffic} | ${these.length} | ${count(({ verdict }) => verdict.withinBudget.adaptive)} | ${count(({ verdict }) => verdict.onFrontier.adaptive)} | ${count(({ verdict }) => verdict.withinBudget.learnt)} | ${count(({ verdict }) => verdict.onFrontier.learnt)} |`;
    }),
    "",
  ];
}

function failures(judged: Judged): string[] {
  const over = judged.filter(({ verdict }) => !verdict.withinBudget.adaptive);
  const off = judged.filter(({ verdict }) => verdict.withinBudget.adaptive && !verdict.onFrontier.adaptive);
  const far = judged.filter(({ verdict }) => verdict.nearOracle === false);
  const groups = Map.groupBy(off, ({ cell }) => reasonOf(cell));
  return [
    "## Cells that fail, and why",
    "",
    `Losing more than ${gridMargins.loss}:`,
    "",
    ...(over.length === 0
      ? ["none."]
      : [
          "| cell | lost | hold, s | best tuned hold, s | learnt: lost | learnt: hold |",
          "|---|---|---|---|---|---|",
          ...over.map(
            ({ cell, verdict }) =>
              `| ${nameOf(cell)} | ${figure(cell.adaptive.lost)} | ${s(cell.adaptive.hold)} | ${s(verdict.best.hold)} (${verdict.best.policy}) | ${figure(cell.learnt.lost)} | ${s(cell.learnt.hold)} |`,
          ),
        ]),
    "",
    ...lossGroups(over.map(({ cell }) => ({ cell, adaptive: cell.adaptive.lost, learnt: cell.learnt.lost }))),
    "Farther from the oracle than the bound; what mends each reason is said below:",
    "",
    ...(far.length === 0
      ? ["none."]
      : far.map(
          ({ cell }) =>
            `- ${nameOf(cell)}: ${s(cell.adaptive.hold)} s, oracle ${s(cell.oracle)} s (${reasonOf(cell)})`,
        )),
    "",
    "Holding longer than the one tuned in hindsight, by reason (each cell's is [below](#all-cells)):",
    "",
    ...[...groups].map(
      ([reason, cells]) => `- **${reason}**, ${cells.length} cells. ${reasons[reason] ?? ""}`,
    ),
    "",
  ];
}

export function lossGroups(
  over: readonly { readonly cell: Cell; readonly adaptive: number; readonly learnt: number }[],
): string[] {
  const groups = Map.groupBy(over, ({ cell, learnt }) => lossReasonOf(cell, learnt));
  return [
    "Why, and what mends them:",
    "",
    ...[...groups].map(([reason, cells]) => {
      const worst = Math.max(...cells.map(({ adaptive }) => adaptive));
      const mended = cells.filter(({ learnt }) => learnt <= gridMargins.loss).length;
      return `- **${reason}**, ${cells.length} cells, ${figure(worst)} at most, ${mended} of them mended by \`learnt\`. ${lossReasons[reason] ?? ""}`;
    }),
    "",
  ];
}

function cellTables(judged: Judged): string[] {
  return [
    "## All cells",
    "",
    "lost per termination / mean hold in s. best: the one tuned in hindsight with the shorter hold. longer for: why `adaptive` holds longer than that; what mends it is above.",
    "",
    ...gridAxes.presets.flatMap((preset) => {
      const these = judged.filter(({ cell }) => cell.preset === preset);
      if (these.length === 0) return [];
      return [
        `### ${preset}`,
        "",
        "| traffic | senders | rate/s | oracle | adaptive | learnt | best | longer for | sleep 5 | sleep 15 | quiet 5 | knative | istio | w* |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
        ...these.map(
          ({ cell, verdict }) =>
            `| ${cell.traffic} | ${cell.senders} | ${cell.rate} | ${s(cell.oracle)} | ${point(cell.adaptive)} | ${point(cell.learnt)} | ${verdict.best.policy} ${s(verdict.best.hold)} | ${isOnFrontier(cell.adaptive, verdict.best.hold) ? "" : reasonOf(cell)} | ${[cell.sleep5, cell.sleep15, cell.quiet5, cell.knative, cell.istio, cell.wStar].map(point).join(" | ")} |`,
        ),
        "",
      ];
    }),
  ];
}

export function nameOf({ preset, traffic, senders, rate }: Cell): string {
  return `${preset}, ${traffic}, ${senders} senders, ${rate}/s`;
}

function point({ lost, hold }: Point): string {
  return `${figure(lost)} / ${s(hold)}`;
}

export function figure(value: number): string {
  if (value === 0) return "0";
  return value < 0.001 ? "<0.001" : String(+value.toPrecision(2));
}

function s(milliseconds: number): string {
  return milliseconds === Infinity ? "-" : (milliseconds / 1_000).toFixed(milliseconds < 10_000 ? 2 : 1);
}
