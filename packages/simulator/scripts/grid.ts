import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { gridAxes, gridCells, heldOutAxes } from "../src/grid/cells.ts";
import { playCell, type PlayedCell } from "../src/grid/play.ts";
import { renderGrid } from "../src/grid/table.ts";

/**
 * Plays the grid and writes docs/grid.md, some ten minutes on one idle core. With --cache FILE it goes on where it was stopped; --only
 * PRESET,... plays a part, and several caches can be rendered together: --caches FILE,...
 */
const { values } = parseArgs({
  options: {
    terminations: { type: "string", default: "50" },
    seed: { type: "string", default: "1" },
    only: { type: "string" },
    output: { type: "string", default: new URL("../../../docs/grid.md", import.meta.url).pathname },
    cache: { type: "string" },
    caches: { type: "string" },
    "held-out": { type: "boolean", default: false },
  },
});
const terminations = Number(values.terminations);
const seed = Number(values.seed);
const cached = (file: string): PlayedCell[] =>
  existsSync(file)
    ? (JSON.parse(readFileSync(file, "utf8"), (_, value: unknown) =>
        value === null ? Infinity : value,
      ) as PlayedCell[])
    : [];

if (values.caches !== undefined) {
  writeFileSync(values.output, renderGrid(values.caches.split(",").flatMap(cached), terminations, seed));
} else {
  const played = values.cache === undefined ? [] : cached(values.cache);
  const cells = [...gridCells(values["held-out"] ? heldOutAxes : gridAxes)].filter(
    (cell) => !values.only || values.only.split(",").includes(cell.preset),
  );
  const started = performance.now();
  for (const [index, cell] of cells.entries()) {
    if (index < played.length) continue;
    // Many senders cost the most and vary the least: fewer terminations tell as much.
    played.push(playCell(cell, cell.senders >= 50 ? Math.ceil(terminations * 0.4) : terminations, seed));
    if (values.cache !== undefined) writeFileSync(values.cache, JSON.stringify(played));
    if (index % 10 === 9)
      process.stderr.write(
        `${index + 1} of ${cells.length} cells, ${((performance.now() - started) / 1_000).toFixed(0)} s\n`,
      );
  }
  if (values.only === undefined) writeFileSync(values.output, renderGrid(played, terminations, seed));
}
