import { readFileSync } from "node:fs";
import {
  compareRuns,
  markdownRow,
  markdownText,
  significance,
  type ComparedRemedy,
  type ComparedRuns,
  type Results,
} from "@lameduck/accounting";
import { fileProblem, printable } from "@lameduck/drain/common";
import { CliError } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { columns } from "../output.ts";

/** Two runs of `lab` or `rollout`, as their --json files have them. @throws {CliError} */
export function readRuns(before: string, after: string): ComparedRuns {
  return compareRuns(resultsIn(before), resultsIn(after));
}

function resultsIn(file: string): Results {
  const bad = (problem: string): CliError => new CliError("LAMEDUCK_BAD_RESULTS", file, problem);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw bad(fileProblem(error));
  }
  try {
    const value = JSON.parse(text) as Partial<Results> | null;
    if (value?.schema !== "lameduck.results/v1" || !Array.isArray(value.remedies)) throw new Error();
    if (!value.remedies.every((one) => Array.isArray(one?.each) && typeof one.hold?.p50 === "number"))
      throw new Error();
    return value as Results;
  } catch {
    throw bad("it holds no results of lameduck lab or rollout");
  }
}

/** More lost is a finding; a remedy that was tested in both runs must be among them. */
export function exitCodeOfComparison({ remedies }: ComparedRuns): number {
  if (remedies.some(({ difference }) => difference === "more")) return exitCodes.losses;
  return remedies.some(({ difference }) => difference !== "untested") ? exitCodes.clean : exitCodes.untested;
}

const heads = ["remedy", "pods", "lost per pod", "hold s", "chance", "verdict"];

const verdicts: Readonly<Record<ComparedRemedy["difference"], string>> = {
  more: "loses more",
  fewer: "loses fewer",
  "none-shown": "no difference shown",
  untested: "untested",
};

function rowsOf({ remedies }: ComparedRuns, arrow = "->"): string[][] {
  return remedies.map(({ remedy, before, after, difference, p }) => [
    remedy,
    `${before.terminations} ${arrow} ${after.terminations}`,
    `${short(before.lostPerTermination)} ${arrow} ${short(after.lostPerTermination)}`,
    `${(before.hold / 1_000).toFixed(1)} ${arrow} ${(after.hold / 1_000).toFixed(1)}`,
    p === undefined ? "-" : p < 0.001 ? "<0.001" : p.toFixed(3),
    verdicts[difference],
  ]);
}

const short = (value: number): string => String(+value.toPrecision(3));

function* notes({ onlyBefore, onlyAfter }: ComparedRuns): Generator<string> {
  yield `chance: how often such a difference of the means comes by chance (permutation of terminations); below ${significance} it counts`;
  if (onlyBefore.length > 0) yield `only in the first run: ${onlyBefore.join(", ")}`;
  if (onlyAfter.length > 0) yield `only in the second run: ${onlyAfter.join(", ")}`;
}

export function comparisonLines(runs: ComparedRuns): string {
  return [...columns([heads, ...rowsOf(runs)]), "", ...notes(runs)]
    .map((line) => `${printable(line)}\n`)
    .join("");
}

export function comparisonMarkdown(runs: ComparedRuns): string {
  const rows = rowsOf(runs, "→").map((cells) => markdownRow(cells.map(printable)));
  const said = [...notes(runs)].map((note) => markdownText(printable(note)));
  return `${[markdownRow(heads), markdownRow(heads.map(() => "---")), ...rows, "", ...said].join("\n")}\n`;
}
