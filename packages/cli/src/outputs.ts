import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import {
  comparisonText,
  htmlReport,
  junitReport,
  markdownReport,
  serialiseResults,
  type Results,
  type Wording,
} from "@lameduck/accounting";
import { badOption } from "./errors.ts";
import { mustBeWritable, onlyOneToStdout, writeOutput } from "./output.ts";

/** Where the results of `lab` and `rollout` go beside the terminal. */
export interface OutputOptions {
  readonly json?: string;
  readonly html?: string;
  readonly junit?: string;
  readonly markdown?: string;
  readonly allowLoss?: boolean;
}

const names = ["json", "html", "junit", "markdown"] as const;

export function addOutputOptions(command: Command): Command {
  return command
    .optionsGroup("The results (a file of - is stdout):")
    .option("--json <file>", "the results as JSON (docs/results.md)")
    .option("--html <file>", "a report with a chart of every termination: kubelet, pod and senders")
    .option("--junit <file>", "JUnit XML, for pipelines that show test results")
    .option("--markdown <file>", "a summary for a pipeline's page or a comment, such as $GITHUB_STEP_SUMMARY")
    .option("--allow-loss", "exit with 0 even if requests were lost or pods killed");
}

/** @throws CliError LAMEDUCK_CANNOT_WRITE or LAMEDUCK_BAD_OPTION */
export function checkOutputs(options: OutputOptions): void {
  onlyOneToStdout(Object.fromEntries(names.map((name) => [name, options[name]])));
  const files = new Map<string, string>();
  for (const name of names) {
    const file = options[name];
    if (file === undefined || file === "-") continue;
    const place = placeOf(file);
    const other = files.get(place);
    if (other !== undefined) throw badOption(`--${name}`, `${file} is written by --${other}, too`);
    files.set(place, name);
  }
  for (const name of names) mustBeWritable(`--${name}`, options[name]);
}

/** Where a file is, or will be, whatever links lead there. */
function placeOf(file: string): string {
  const path = resolve(file);
  for (const [known, rest] of [
    [path, ""],
    [dirname(path), basename(path)],
  ] as const)
    try {
      return join(realpathSync(known), rest);
    } catch {
      // The file does not exist yet. A missing folder is reported when the file is written.
    }
  return path;
}

/** Whether no machine output goes to stdout. */
export function isStdoutFree(options: OutputOptions): boolean {
  return names.every((name) => options[name] !== "-");
}

export interface Published {
  readonly instead?: Wording;
  /** Why the run did not come to its end, if it did not. */
  readonly unfinished?: string | undefined;
}

/** Shows the results and writes what was asked for. */
export function publishResults(results: Results, options: OutputOptions, published: Published = {}): void {
  const { instead } = published;
  const { allowLoss } = options;
  if (isStdoutFree(options))
    process.stdout.write(
      `\n${comparisonText(results, { stream: process.stdout, ...(instead ? { instead } : {}) })}`,
    );
  const texts = {
    json: () => serialiseResults(results),
    html: () => htmlReport(results, instead),
    junit: () => junitReport(results, { ...published, allowLoss }),
    markdown: () => markdownReport(results, instead),
  };
  const failures: Error[] = [];
  for (const name of names)
    try {
      writeOutput(`--${name}`, options[name], texts[name]);
    } catch (error) {
      failures.push(error as Error);
    }
  // One full disk is no reason to lose the other files.
  const [first, ...others] = failures;
  for (const error of others) process.stderr.write(`error ${error.message}\n`);
  if (first) throw first;
}
