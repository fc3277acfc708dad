import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { gridAxes, gridCells, heldOutAxes } from "../src/grid/cells.ts";
import { playCell, type PlayedCell } from "../src/grid/play.ts";
import { renderHeldOut } from "../src/grid/held-out.ts";
import { playPrior, priorAxes, renderPrior } from "../src/grid/prior.ts";
import { renderGrid } from "../src/grid/table.ts";
import { commandLine } from "../../../scripts/command-line.ts";

/**
 * Plays the grid and writes docs/grid.md, some ten minutes on one idle core. With --cache FILE it goes on where it was stopped; --only
 * PRESET,... plays a part, and several caches can be rendered together: --caches FILE,... --held-out does the same
 * for the cells that nothing was tuned on, a part of the same page; --prior for opponents of equal knowledge, another part.
 */
const { values } = commandLine(import.meta.url, {
  options: {
    terminations: { type: "string", default: "50" },
    seed: { type: "string", default: "1" },
    only: { type: "string" },
    output: { type: "string", default: new URL("../../../docs/grid.md", import.meta.url).pathname },
    cache: { type: "string" },
    caches: { type: "string" },
    "held-out": { type: "boolean", default: false },
    prior: { type: "boolean", default: false },
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

const heldOut = values["held-out"];
const page = existsSync(values.output) ? readFileSync(values.output, "utf8") : "";
/** Two parts of the page are made by themselves; the grid keeps them. */
const parts = { "## Held out": heldOut, "## At equal knowledge": values.prior };
const partOf = (title: string): RegExp => new RegExp(`${title}\\n[^]*?(?=\\n## )`);
const write = (made: string): void => {
  const kept = Object.entries(parts).map(([title, anew]) =>
    anew ? made : (partOf(title).exec(page)?.[0] ?? ""),
  );
  const anyPart = Object.values(parts).some(Boolean);
  const rest = anyPart
    ? Object.keys(parts).reduce((text, title) => text.replace(partOf(title), ""), page)
    : made;
  writeFileSync(
    values.output,
    rest.replace(
      /\n+(?=## Cells that fail)/,
      () => `\n\n${kept.map((part) => part.trim()).join("\n\n")}\n\n`,
    ),
  );
};
const writeCells = (played: readonly PlayedCell[]): void =>
  write(heldOut ? renderHeldOut(played, terminations, seed) : renderGrid(played, terminations, seed));

if (values.prior) {
  write(
    renderPrior(
      priorAxes.rates.map((rate) => playPrior(terminations, seed, rate)),
      terminations,
    ),
  );
} else if (values.caches !== undefined) {
  writeCells(values.caches.split(",").flatMap(cached));
} else {
  const played = values.cache === undefined ? [] : cached(values.cache);
  const cells = [...gridCells(heldOut ? heldOutAxes : gridAxes)].filter(
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
  if (values.only === undefined) writeCells(played);
}
