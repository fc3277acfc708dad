/**
 * Draws the pictures of docs/pictures, light and dark in one file. `--record lab.json` first takes the terminations of a run of the lab into
 * scripts/pictures/termination.json, from which the first picture is drawn. `--check` only compares, and exits with 1 where a file differs.
 *
 *   lameduck lab --senders l4:4,l7:1 --propagation 1s..10s --rps 200 --json lab.json -- node server.js
 */
import { readFileSync } from "node:fs";
import { commandLine } from "./command-line.ts";
import { writeMade } from "./format-page.ts";
import { cluster } from "./pictures/cluster.ts";
import { svg } from "./pictures/drawing.ts";
import { gracePeriod } from "./pictures/grace-period.ts";
import { readRecording, recordingOf, termination, writeRecording } from "./pictures/termination.ts";
import { whichWay } from "./pictures/which-way.ts";
import type { Results } from "../packages/accounting/src/index.ts";

const { values } = commandLine(import.meta.url, {
  options: {
    // only compare
    check: { type: "boolean", default: false },
    // results of the lab
    record: { type: "string" },
  },
});

if (values.record !== undefined)
  writeRecording(recordingOf(JSON.parse(readFileSync(values.record, "utf8")) as Results));

const pictures = {
  termination: termination(readRecording()),
  cluster: cluster(),
  "which-way": whichWay(),
  "grace-period": gracePeriod(),
};
for (const [name, picture] of Object.entries(pictures))
  writeMade(
    new URL(`../docs/pictures/${name}.svg`, import.meta.url),
    svg(picture),
    `docs/pictures/${name}.svg is not what its script draws: npx node scripts/pictures.ts`,
  );
