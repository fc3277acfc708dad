import { Command } from "commander";
import { parseDuration } from "@lameduck/drain";
import type { DrainReport } from "@lameduck/coordinator";
import { badOption } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { ending } from "../help/ending.ts";
import { connectToWorkload, type WorkloadFlags } from "../cluster/connection.ts";
import { interruptible } from "../interrupt.ts";
import { checkOutputs, outputFiles, publish } from "../output.ts";
import { comparisonLines, comparisonMarkdown, exitCodeOfComparison, readRuns } from "./compare.ts";
import { reportPage } from "./page.ts";
import { readReports } from "./read.ts";
import { detailText, overviewText, type Asked } from "./text.ts";
import { figuresOf } from "./figures.ts";

interface Options extends WorkloadFlags {
  readonly pod?: string;
  readonly since: string;
  readonly json?: string;
  readonly html?: string;
  readonly markdown?: string;
}

/** `lameduck report`: how the pods of a namespace ended; of two files, what has changed between two runs. */
export function reportCommand(exit: (code: number) => void): Command {
  return new Command("report")
    .description(
      "Show how the pods of a namespace ended: hold, release, stop reason, and what a stop at SIGTERM would have put at risk. Of two files of lab --json or rollout --json: whether the second run lost more.",
    )
    .argument("[before]", "results of the first run")
    .argument("[after]", "results of the second run")
    .option("--pod <name>", "only pods whose name begins with this; a single pod is shown in full")
    .option("--since <time>", "only terminations of this time: 30m, 1h, 24h", "1h")
    .addHelpText("after", examples)
    .action(async (before: string | undefined, after: string | undefined, options: Options) =>
      exit(before === undefined ? await report(options) : compare(before, after, options)),
    );
}

function compare(before: string, after: string | undefined, options: Options): number {
  if (after === undefined) throw badOption("[after]", "a comparison needs the results of two runs");
  if (options.html !== undefined)
    throw badOption("--out html", "a comparison has no page; lab and rollout write the page of a run");
  checkOutputs(outputFiles(options, "json", "markdown"));
  const runs = readRuns(before, after);
  publish(() => comparisonLines(runs), options, {
    json: () => `${JSON.stringify({ version: 1, ...runs }, undefined, 2)}\n`,
    markdown: () => comparisonMarkdown(runs),
  });
  return exitCodeOfComparison(runs);
}

async function report(options: Options): Promise<number> {
  if (options.markdown !== undefined) throw badOption("--out markdown", "goes with the results of two runs");
  checkOutputs(outputFiles(options, "json", "html"));
  const since = parseDuration(options.since, "--since");
  const { client, namespace } = connectToWorkload(options);
  return interruptible(client, async (signal) => {
    const reports = await readReports(client, { namespace, pod: options.pod, since }, signal);
    const asked = { namespace, since: options.since };
    const isOne = reports.length === 1 && options.pod !== undefined;
    publish(() => (isOne ? detailText(reports[0]!) : overviewText(reports, asked)), options, {
      json: () => `${JSON.stringify(reportsJson(reports, asked), undefined, 2)}\n`,
      html: () => reportPage(reports, asked),
    });
    if (reports.length === 0) return exitCodes.untested;
    const isLosing = ({ killed, stuckConsumers = [] }: DrainReport): boolean =>
      killed === "yes" || stuckConsumers.length > 0;
    return reports.some(isLosing) ? exitCodes.losses : exitCodes.clean;
  });
}

/** As the cluster keeps them, without what only the API server needs. */
function reportsJson(reports: readonly DrainReport[], { namespace, since }: Asked): unknown {
  const own = reports.map(({ metadata: { name }, ...rest }) => ({ name, ...rest }));
  return { namespace, since, figures: figuresOf(reports), reports: own };
}

const examples = ending(
  `
Examples:
  $ lameduck report -n shop
  $ lameduck report -n shop --pod web-7d9c --since 24h --out report.html
  $ lameduck report main.json branch.json --out summary.md

The coordinator writes the reports: lameduck install --acknowledgements.`,
  "0 no pod was killed, or no more was lost, 1 a pod was killed at the end of its grace period, a sender never stopped sending to a pod, or the second run lost more, 2 usage, 3 internal, 4 cluster or environment, 5 no report, or nothing to compare",
  "docs/operate/drain-reports.md",
);
