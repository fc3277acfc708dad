import { terminationsText } from "./cells.ts";
import { gridMargins } from "./play.ts";
import { figure, nameOf } from "./table.ts";
import { ladder, type Tuned, type TunedPreset } from "./tuned.ts";
import { isNearOracle, isOnFrontier } from "./verdict.ts";

/** Lost per termination at most, at which the policies are compared. */
const levels = [0.001, 0.003, 0.01, 0.03];

export function renderTuned(presets: readonly TunedPreset[], terminations: number, seed: number): string {
  const rows = presets.flatMap((preset) =>
    levels.map((level) => ({
      preset,
      level,
      fixed: shortest(preset.fixed, level),
      quiet: shortest(preset.quiet, level),
      adaptive: shortest(preset.adaptive, level),
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
    `Everybody knows the preset, and has one setting for all of its cells: the shortest hold of each policy that loses no more than that in one termination, on average over them. \`adaptive\` is told the mean \`convergence\`; its \`lossBudget\`, \`floor\` and \`cap\` are tuned as the others' delay and window are: three settings to the others' one, all chosen with the arrivals that they are judged by. ${terminationsText(terminations)}, seed ${seed}; by \`npm run grid -w packages/simulator -- --tuned\`. On the frontier, within the margins above: ${onFrontier.length} of ${rows.length}; shorter than both: ${better.length}. Mean hold in s, and the setting:`,
    "",
    "| preset | mean convergence, s | oracle, s | lost at most | fixed | quiet | adaptive |",
    "|---|---|---|---|---|---|---|",
    ...rows.map(
      ({ preset, level, fixed, quiet, adaptive }) =>
        `| ${preset.preset} | ${figures(preset.convergence)} | ${figures(preset.oracle)} | ${level} | ${figures(fixed.hold)} | ${figures(quiet.hold)} (${quiet.setting}) | **${figures(adaptive.hold)}** (${adaptive.setting}) |`,
    ),
    "",
    `With the default budget, no floor, and as cap the fixed delay that loses ${gridMargins.loss} at most, it is within the bound of the oracle in ${judged.length - far.length} of ${judged.length} cells with evidence by the preset's mean. The others: ${far.map(({ name, hold, oracle }) => `${name} ${figures(hold)} s, oracle ${figures(oracle)} s`).join("; ")}.`,
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

function shortest(family: readonly Tuned[], lost: number): Tuned {
  return family
    .filter((tuned) => tuned.lost <= lost)
    .reduce((best, tuned) => (tuned.hold < best.hold ? tuned : best), {
      setting: "none",
      hold: Infinity,
      lost: 0,
    });
}

function figures(milliseconds: number): string {
  return String(+(milliseconds / 1_000).toPrecision(3));
}

/** Those with evidence, held no longer than the fixed delay that loses no more than the margin. */
function informativeCells({
  fixed,
  informative,
}: TunedPreset): { name: string; hold: number; oracle: number }[] {
  const cap = ladder.indexOf(shortest(fixed, gridMargins.loss).hold);
  return informative.map((cell) => ({
    name: nameOf(cell),
    hold: cell.capped[cap]!.hold,
    oracle: cell.oracle,
  }));
}
