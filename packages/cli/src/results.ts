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
import { checkOutputs, outputFiles, publish } from "./output.ts";

/** Where the results of `lab` and `rollout` go beside the terminal. */
export interface OutputOptions {
  readonly json?: string;
  readonly html?: string;
  readonly junit?: string;
  readonly markdown?: string;
  readonly allowLoss?: boolean;
  readonly ui?: boolean;
}

export function addOutputOptions(command: Command): Command {
  return command
    .optionsGroup("The results:")
    .option("--ui", "show the report in a browser while it grows: prints its address on this machine")
    .option("--allow-loss", "exit with 0 even if requests were lost or pods killed");
}

/** @throws as `checkOutputs` does. */
export function checkResultFiles(options: OutputOptions): void {
  checkOutputs(outputFiles(options, "json", "html", "junit", "markdown"));
}

interface Published {
  readonly instead?: Wording;
  /** Why the run did not come to its end, if it did not. */
  readonly unfinished?: string | undefined;
}

/** Shows the results and writes what was asked for. @returns whether they were shown. */
export function publishResults(results: Results, options: OutputOptions, published: Published = {}): boolean {
  const { instead } = published;
  return publish(
    () => `\n${comparisonText(results, { stream: process.stdout, ...(instead ? { instead } : {}) })}`,
    options,
    {
      json: () => serialiseResults(results),
      html: () => htmlReport(results, instead),
      junit: () => junitReport(results, { ...published, allowLoss: options.allowLoss }),
      markdown: () => markdownReport(results, instead),
    },
  );
}
