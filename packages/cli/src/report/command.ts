import { Command } from "commander";
import { parseDuration } from "@lameduck/drain";
import type { DrainReport } from "@lameduck/coordinator";
import { exitCodes } from "../exit-codes.ts";
import { ending } from "../help/ending.ts";
import { connectToWorkload, type WorkloadFlags } from "../cluster/connection.ts";
import { interruptible } from "../interrupt.ts";
import { checkOutputs, outputFiles, publish } from "../output.ts";
import { reportPage } from "./page.ts";
import { readReports } from "./read.ts";
import { detailText, overviewText, type Asked } from "./text.ts";
import { figuresOf } from "./figures.ts";

interface Options extends WorkloadFlags {
  readonly pod?: string;
  readonly since: string;
  readonly json?: string;
  readonly html?: string;
}

/** `lameduck report`: how the pods of a namespace ended. */
export function reportCommand(exit: (code: number) => void): Command {
  return new Command("report")
    .description(
      "Show how the pods of a namespace ended: hold, release, stop reason, and what a stop at SIGTERM would have put at risk.",
    )
    .option("--pod <name>", "only pods whose name begins with this; a single pod is shown in full")
    .option("--since <time>", "only terminations of this time: 30m, 1h, 24h", "1h")
    .addHelpText("after", examples)
    .action(async (options: Options) => exit(await report(options)));
}

async function report(options: Options): Promise<number> {
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

The coordinator writes the reports: lameduck install --acknowledgements.`,
  "0 no pod was killed, 1 a pod was killed at the end of its grace period or a sender never stopped sending to a pod, 2 usage, 3 internal, 4 cluster or environment, 5 no report",
  "docs/operate/drain-reports.md",
);
