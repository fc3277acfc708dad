import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { gridAxes, gridCells, heldOutAxes, terminationsOf, type Cell } from "./grid/cells.ts";
import { playCell } from "./grid/play.ts";
import { renderHeldOut } from "./grid/held-out.ts";
import { playPrior, priorAxes, renderPrior } from "./grid/prior.ts";
import { renderGrid } from "./grid/table.ts";
import { playTuned } from "./grid/tuned.ts";
import { renderTuned } from "./grid/tuned-table.ts";
import { commandLine } from "../scripts/command-line.ts";
import { withGrid, withPart } from "./grid/page.ts";

/**
 * Plays the grid and writes research/recordings/grid.md, in some ten minutes on one idle core.
 * `--cache FILE` goes on where it was stopped. Three more parts of the page are made by themselves. `--held-out` plays cells
 * that nothing was tuned on. `--prior` plays opponents of equal knowledge. `--tuned` plays opponents that know the preset as
 * the rule does.
 */
const { values } = commandLine(import.meta.url, {
  options: {
    terminations: { type: "string", default: "50" },
    seed: { type: "string", default: "1" },
    output: { type: "string", default: new URL("./recordings/grid.md", import.meta.url).pathname },
    cache: { type: "string" },
    "held-out": { type: "boolean", default: false },
    prior: { type: "boolean", default: false },
    tuned: { type: "boolean", default: false },
  },
});
const terminations = Number(values.terminations);
const seed = Number(values.seed);
const play = (cell: Cell) => playCell(cell, terminationsOf(cell, terminations), seed);

if (values["held-out"])
  make([...gridCells(heldOutAxes)], play, (page, played) =>
    withPart(page, "Held out", renderHeldOut(played, terminations, seed)),
  );
else if (values.prior)
  make(
    priorAxes.rates,
    (rate) => playPrior(terminations, seed, rate),
    (page, played) => withPart(page, "At equal knowledge", renderPrior(played, terminations)),
  );
else if (values.tuned)
  make(
    gridAxes.presets,
    (preset) => playTuned(preset, terminations, seed),
    (page, played) => withPart(page, "Tuned to the preset", renderTuned(played, terminations, seed)),
  );
else make([...gridCells()], play, (page, played) => withGrid(page, renderGrid(played, terminations, seed)));

/** Plays what the cache has not, and writes the page. */
function make<Item, Played>(
  items: readonly Item[],
  playOne: (item: Item) => Played,
  written: (page: string, played: readonly Played[]) => string,
): void {
  const played = values.cache === undefined ? [] : cached<Played>(values.cache);
  const started = performance.now();
  for (const [index, item] of items.entries()) {
    if (index < played.length) continue;
    played.push(playOne(item));
    if (values.cache !== undefined) writeFileSync(values.cache, JSON.stringify(played));
    const seconds = ((performance.now() - started) / 1_000).toFixed(0);
    if (items.length < 10 || index % 10 === 9)
      process.stderr.write(`${index + 1} of ${items.length}, ${seconds} s\n`);
  }
  const page = existsSync(values.output) ? readFileSync(values.output, "utf8") : "";
  writeFileSync(values.output, written(page, played));
}

function cached<Played>(file: string): Played[] {
  if (!existsSync(file)) return [];
  return JSON.parse(readFileSync(file, "utf8"), (_, value: unknown) =>
    value === null ? Infinity : value,
  ) as Played[];
}
