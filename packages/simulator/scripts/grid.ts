import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { gridCells } from "../src/grid/cells.ts";
import { playCell, type PlayedCell } from "../src/grid/play.ts";
import { renderGrid } from "../src/grid/table.ts";

/** Plays the grid and writes docs/grid.md. Cells are independent; an interrupted run goes on where its --cache stopped. */
const { values } = parseArgs({
  options: {
    terminations: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
    only: { type: "string" },
    output: { type: "string", default: new URL("../../../docs/grid.md", import.meta.url).pathname },
    cache: { type: "string" },
  },
});
const terminations = Number(values.terminations);
const seed = Number(values.seed);
const played: PlayedCell[] = [];
const cells = [...gridCells()].filter((cell) => !values.only || values.only.split(",").includes(cell.preset));
const started = performance.now();
for (const [index, cell] of cells.entries()) {
  // Many senders cost the most and vary the least: fewer terminations tell as much.
  played.push(playCell(cell, cell.senders >= 50 ? Math.ceil(terminations * 0.4) : terminations, seed));
  if (index % 10 === 9)
    process.stderr.write(
      `${index + 1} of ${cells.length} cells, ${((performance.now() - started) / 1_000).toFixed(0)} s\n`,
    );
  if (values.cache) writeFileSync(values.cache, JSON.stringify(played));
}
writeFileSync(values.output, renderGrid(played));
