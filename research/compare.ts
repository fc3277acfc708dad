import { compareCluster } from "./compare/cluster.ts";
import { compareLab } from "./compare/lab.ts";
import { compareRollouts } from "./compare/rollouts.ts";
import { tableOf, type Compared } from "./compare/table.ts";
import { commandLine } from "../scripts/command-line.ts";

/**
 * Compares reality with the model at the same parameters. Reality is runs of the lab's local stage, made now (some five
 * minutes), and recorded runs of a real cluster. Prints tables; exits with 1 if anything disagrees.
 * `--only lab` or `--only cluster` does one of them. `--propagation mesh` does only that part of the lab's. `--results FOLDER`
 * keeps the lab's results there and uses those that exist.
 */
const { values } = commandLine(import.meta.url, {
  options: { only: { type: "string" }, propagation: { type: "string" }, results: { type: "string" } },
});
const say = (line: string): boolean => process.stderr.write(`${line}\n`);
const print = (title: string, rows: readonly Compared[]): boolean => {
  process.stdout.write(`### ${title}\n\n${tableOf(rows)}\n\n`);
  return rows.every(({ agrees }) => agrees.lost && agrees.hold && agrees.oracle);
};
const agree = [
  values.only === "cluster" ||
    print("The lab's local stage", [
      ...compareLab(say, { only: values.propagation, folder: values.results }),
    ]),
  values.only === "lab" || print("Rollouts of a real cluster", [...compareRollouts(say)]),
  values.only === "lab" || print("What else was recorded on one", [...compareCluster(say)]),
];
process.exitCode = agree.every(Boolean) ? 0 : 1;
