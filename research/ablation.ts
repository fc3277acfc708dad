import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type * as Rule from "@lameduck/drain";
import type { DrainOptions } from "@lameduck/drain";
import { commandLine } from "../scripts/command-line.ts";
import { drained } from "../packages/simulator/src/policies/drained.ts";
import type { Contender } from "../packages/simulator/src/policies/stopper.ts";
import { run } from "../packages/simulator/src/run.ts";
import { mechanisms, type Mechanism } from "./ablation/mechanisms.ts";
import { ablationCells, cellSets, scenarioOfAblation, type AblationCell } from "./ablation/cells.ts";
import { renderAblation, type Total } from "./ablation/table.ts";

/**
 * What each mechanism of the rule buys: the grid without it. The rule's sources are copied and one line of them is changed.
 * Both are played on the same arrivals, and compared at the same hold by means of other loss budgets. Half of the environments
 * are those on which constants were tuned; the other half are reported. `--half bursts` are cells of their own.
 * Writes a table in Markdown to stdout, in some minutes.
 */
const { values } = commandLine(import.meta.url, {
  options: {
    terminations: { type: "string", default: "4" },
    seed: { type: "string", default: "11" },
    only: { type: "string" },
    half: { type: "string" },
  },
});

const sources = fileURLToPath(new URL("../packages/drain/src", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "lameduck-ablation-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** Losses fall as budgets do: with these the whole rule is drawn as a line of hold and loss. */
const budgets = [0.0001, 0.001, 0.003, 0.01];
const bounds = { grace: 120_000, reserve: 0, floor: 1_000 } satisfies DrainOptions;

async function without({ name, file, whole, changed }: Mechanism, index: number): Promise<Contender> {
  const copy = join(folder, String(index));
  cpSync(sources, copy, { recursive: true });
  const path = join(copy, file);
  const text = readFileSync(path, "utf8");
  if (text.split(whole).length !== 2)
    throw new Error(`${name}: ${file} does not have the line once: ${whole}`);
  writeFileSync(path, text.replace(whole, changed));
  const { Drain, parseConfig } = (await import(pathToFileURL(join(copy, "index.ts")).href)) as typeof Rule;
  const config = parseConfig(bounds);
  return { ...drained(name, bounds), start: () => new Drain(config) };
}

const wanted = (name: string): boolean => !values.only || values.only.split(",").includes(name);
const chosen = mechanisms.filter(({ name }) => wanted(name));
const contenders = [
  ...budgets.map((lossBudget) => drained(`budget ${lossBudget}`, { ...bounds, lossBudget })),
  ...(await Promise.all(chosen.map(without))),
];

function totalsOf(cells: readonly AblationCell[]): Total[] {
  const totals = contenders.map(() => ({ hold: 0, lost: 0 }));
  for (const cell of cells) {
    const scenario = scenarioOfAblation(cell, Number(values.terminations));
    const { outcomes } = run(scenario, contenders, { seed: Number(values.seed) });
    for (const [index, played] of outcomes.entries())
      for (const { hold, expectedLost, losses } of played) {
        const share = 1 / played.length / cells.length;
        totals[index]!.hold += hold * share;
        totals[index]!.lost += (expectedLost + losses.keepAlive) * share;
      }
  }
  return totals;
}

const wantedHalves = cellSets.filter((set) => (values.half ?? "tuned,reported").split(",").includes(set));
const halves = wantedHalves.map((half) => {
  const cells = [...ablationCells(half)];
  const totals = totalsOf(cells);
  return {
    half,
    cells: cells.length,
    whole: totals.slice(0, budgets.length),
    without: totals.slice(budgets.length),
  };
});
process.stdout.write(
  renderAblation(
    chosen,
    halves,
    budgets.indexOf(0.001),
    `${values.terminations} terminations each, seed ${values.seed}`,
  ),
);
