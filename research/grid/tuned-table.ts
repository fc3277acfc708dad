import { terminationsText } from "./cells.ts";
import { gridMargins, type Point } from "./play.ts";
import { figure, nameOf } from "./table.ts";
import { ladder, levels, shortest, type Level, type TunedPreset } from "./tuned.ts";
import { isNearOracle, isOnFrontier, reasonOf } from "./verdict.ts";

export function renderTuned(presets: readonly TunedPreset[], terminations: number, seed: number): string {
  const rows = presets.flatMap((preset) =>
    levels.map((level) => ({
      preset,
      level,
      fixed: shortest(preset.fixed, level),
      quiet: shortest(preset.quiet, level),
      adaptive: shortest(preset.adaptive, level),
      beaten: beatenCells(preset, level),
    })),
  );
  const better = rows.filter(
    ({ fixed, quiet, adaptive }) => adaptive.hold < Math.min(fixed.hold, quiet.hold),
  );
  const onFrontier = rows.filter(({ fixed, quiet, adaptive }) =>
    isOnFrontier(adaptive, Math.min(fixed.hold, quiet.hold)),
  );
  const judged = presets.flatMap(informativeCells);
  const far = judged.filter(({ hold, oracle }) => !isNearOracle({ hold }, oracle));
  return [
    "## Tuned to the preset",
    "",
    `Each policy knows the preset. It has one setting for all cells of that preset. The table shows its shortest hold that loses no more than the level in a termination, as a mean over the cells. \`adaptive\` is given the mean \`convergence\`. Its \`lossBudget\`, \`floor\` and \`cap\` are tuned. The other policies have one setting each: a delay or a window. All settings are chosen with the arrivals that they are judged by. ${terminationsText(terminations)}, seed ${seed}; by \`npm run grid -w research -- --tuned\`. On the frontier, within the margins above: ${onFrontier.length} of ${rows.length}; shorter than both: ${better.length}. Mean hold in s, and the setting:`,
    "",
    "| preset | mean convergence, s | oracle, s | lost at most | fixed | quiet | adaptive | cells on the frontier |",
    "|---|---|---|---|---|---|---|---|",
    ...rows.map(
      ({ preset, level, fixed, quiet, adaptive, beaten }) =>
        `| ${preset.preset} | ${figures(preset.convergence)} | ${figures(preset.oracle)} | ${level} | ${figures(fixed.hold)} | ${figures(quiet.hold)} (${quiet.setting}) | **${figures(adaptive.hold)}** (${adaptive.setting}) | ${preset.inCells.length - beaten.length} of ${preset.inCells.length} |`,
    ),
    "",
    ...cellByCell(rows),
    `\`adaptive\` was also played with the default budget and no floor. Its cap was the fixed delay that loses ${gridMargins.loss} at most. By the preset's mean, it is within the bound of the oracle in ${judged.length - far.length} of ${judged.length} cells with evidence. The others follow, each with the reason; what mends it is said below. ${far.map(({ name, hold, oracle, reason }) => `${name} ${figures(hold)} s, oracle ${figures(oracle)} s (${reason})`).join("; ")}.`,
    "",
    "And beside rules that have nothing to tune, where it loses no more than they do (0.0005 at most where they lose nothing). `w*` is told rate, senders and mean convergence:",
    "",
    "| preset | rule | lost | hold, s | adaptive: lost | adaptive: hold, s |",
    "|---|---|---|---|---|---|",
    ...presets.flatMap(({ preset, given, adaptive }) =>
      given.map((rule) => {
        const equal = shortest(adaptive, Math.max(rule.lost, 0.0005));
        return `| ${preset} | ${rule.setting} | ${figure(rule.lost)} | ${figures(rule.hold)} | ${figure(equal.lost)} | **${figures(equal.hold)}** (${equal.setting}) |`;
      }),
    ),
    "",
  ].join("\n");
}

interface Beaten {
  readonly cell: string;
  readonly reason: string;
  readonly adaptive: Point;
  readonly policy: string;
  readonly point: Point;
}

/**
 * Cells in which `adaptive` is beaten: another policy of the same knowledge holds less, loses no more here, and loses no more
 * over the preset.
 */
function beatenCells({ inCells, given, convergence }: TunedPreset, level: Level): Beaten[] {
  const index = levels.indexOf(level);
  return inCells.flatMap((cell) => {
    const adaptive = cell.adaptive[index]!;
    const others = [
      { policy: "fixed", point: cell.fixed[index]! },
      { policy: "quiet", point: cell.quiet[index]! },
      ...given.flatMap(({ setting, lost }, rule) =>
        lost <= level ? [{ policy: setting, point: cell.given[rule]! }] : [],
      ),
    ];
    const [best] = others
      .filter(({ point }) => point.lost <= Math.max(gridMargins.loss, adaptive.lost))
      .filter(({ point }) => !isOnFrontier(adaptive, point.hold))
      .sort((a, b) => a.point.hold - b.point.hold);
    return best
      ? [{ ...best, cell: nameOf(cell), reason: reasonOf({ ...cell, convergence }), adaptive }]
      : [];
  });
}

function cellByCell(
  rows: readonly {
    readonly preset: TunedPreset;
    readonly level: Level;
    readonly beaten: readonly Beaten[];
  }[],
): string[] {
  const cells = rows.reduce((sum, { preset }) => sum + preset.inCells.length, 0);
  const beaten = rows.reduce((sum, row) => sum + row.beaten.length, 0);
  const listed = rows.flatMap((row) => row.beaten.map((cell) => ({ ...cell, level: row.level })));
  return [
    `The last column looks at each cell by itself, with those settings. A policy is on the frontier of a cell unless another one loses no more and its hold is shorter by more than the margins. Knative's rule, Istio's and w* count as others where they lose no more than the level over the preset. \`adaptive\` is on the frontier in ${cells - beaten} of ${cells}. The cells where it is not, by level, with the reason (what mends it is said below); hold / lost:`,
    "",
    ...listed.map(
      ({ cell, level, adaptive, policy, point, reason }) =>
        `- ${cell}, at ${level}: ${figures(adaptive.hold)} s / ${figure(adaptive.lost)}, ${policy} ${figures(point.hold)} s / ${figure(point.lost)} (${reason})`,
    ),
    "",
  ];
}

function figures(milliseconds: number): string {
  return String(+(milliseconds / 1_000).toPrecision(3));
}

/** Those with evidence, held no longer than the fixed delay that loses no more than the margin. */
function informativeCells({
  fixed,
  convergence,
  informative,
}: TunedPreset): { name: string; hold: number; oracle: number; reason: string }[] {
  const cap = ladder.indexOf(shortest(fixed, gridMargins.loss).hold);
  return informative.map((cell) => ({
    name: nameOf(cell),
    hold: cell.capped[cap]!.hold,
    oracle: cell.oracle,
    reason: reasonOf({ ...cell, convergence }),
  }));
}
