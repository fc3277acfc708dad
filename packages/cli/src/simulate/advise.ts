import { Command } from "commander";
import { adviseCommand, type ScenarioFlags } from "@lameduck/simulator";
import { printable } from "@lameduck/drain/common";
import { badOption } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { report } from "../failure.ts";
import { collect } from "../options.ts";
import { checkOutputs, outputFiles, publish } from "../output.ts";
import { ending } from "../help/ending.ts";
import { addScenarioFlags } from "./flags.ts";
import { workloadsOf, type Advised } from "./manifests.ts";

interface Options extends ScenarioFlags {
  readonly seed: number;
  readonly file?: readonly string[];
  readonly recording?: string;
  readonly container?: string;
  readonly json?: string;
  readonly patch?: string;
}

/** `lameduck advise`: what the settings should be. */
export function advise(exit: (code: number) => number): Command {
  const command = new Command("advise")
    .description(
      "Recommend policy, floor, cap, grace period and surge, from a model, with the arithmetic and the expected loss.",
    )
    .argument("[scenario]", "a scenario file, as for simulate");
  return addScenarioFlags(command)
    .option(
      "-f, --file <manifest>",
      "take replicas, strategy and grace period of each workload from manifests: files, folders, or - for stdin; may be repeated",
      collect,
    )
    .option("--recording <file>", "take convergence and rate from a file of lab --json or rollout --json")
    .option(
      "--container <name>",
      "container that gets the settings of --patch (default: the one that serves)",
    )
    .option("--json <file>", "write the advice as JSON; - is stdout")
    .option("--patch <file>", "write a strategic merge patch, for kubectl patch; - is stdout")
    .addHelpText("after", examples)
    .action(async (scenario: string | undefined, { file, ...options }: Options) => {
      checkOutputs(outputFiles(options, "json", "patch"));
      if (file === undefined) show([await adviseCommand({ ...options, scenario })], options);
      else exit(await adviseEach(file, scenario, options));
    });
}

type Advice = Awaited<ReturnType<typeof adviseCommand>> & { readonly workload?: Advised };

async function adviseEach(
  paths: readonly string[],
  scenario: string | undefined,
  options: Omit<Options, "file">,
): Promise<number> {
  const { workloads, failures } = await workloadsOf(paths);
  for (const failure of failures) report(failure);
  if (workloads.length === 0) {
    if (failures.length > 0) return exitCodes.usage;
    throw badOption(
      "--file",
      "has no workload that a rollout replaces: a Deployment, a StatefulSet, a DaemonSet or a Rollout",
    );
  }
  const advices: Advice[] = [];
  for (const workload of workloads) {
    const { object, place } = workload;
    const container = options.container ?? workload.container;
    const given = { ...options, scenario, manifest: { object, place }, container };
    advices.push({ ...(await adviseCommand(given)), workload });
  }
  show(advices, options);
  return failures.length > 0 ? exitCodes.usage : exitCodes.clean;
}

/** JSON is one line for each workload, patches are documents in a row. */
function show(advices: readonly Advice[], options: Pick<Options, "json" | "patch">): void {
  const spelt = ({ workload }: Advice): string =>
    workload === undefined ? "" : printable(`${workload.place}: ${workload.name}`);
  const jsonLines = (): string =>
    advices
      .map(({ json: advice, workload }) => {
        const { name, place } = workload ?? {};
        return `${JSON.stringify(workload ? { ...advice, workload: { name, place } } : advice)}\n`;
      })
      .join("");
  publish(
    () => advices.map((one) => (one.workload ? `${spelt(one)}\n${one.text}` : one.text)).join("\n"),
    options,
    {
      json: jsonLines,
      patch: () =>
        advices.map((one) => (one.workload ? `# ${spelt(one)}\n${one.patch}` : one.patch)).join("---\n"),
    },
  );
}

const examples = ending(
  `
Examples:
  $ lameduck advise -f deployment.yaml --senders alb:2 --rate 500
  $ lameduck advise -f deploy/ --json advice.jsonl
  $ lameduck advise --recording lab.json
  $ lameduck advise -f deployment.yaml --recording lab.json --patch patch.yaml
  $ kubectl patch deployment web --patch-file patch.yaml`,
  "0 done, 2 usage, or something could not be read, 3 internal",
  "docs/simulate.md#advice",
);
