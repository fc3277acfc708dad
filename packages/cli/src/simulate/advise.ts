import { Command } from "commander";
import { adviseCommand, type ScenarioFlags } from "@lameduck/simulator";
import { checkFiles, writeOutput } from "../output.ts";
import { ending } from "../help/ending.ts";
import { addScenarioFlags } from "./flags.ts";

interface Options extends ScenarioFlags {
  readonly seed: number;
  readonly file?: string;
  readonly recording?: string;
  readonly container?: string;
  readonly json?: string;
  readonly patch?: string;
}

/** `lameduck advise`: what the settings should be. */
export function advise(): Command {
  const command = new Command("advise")
    .description(
      "Recommend policy, floor, cap, grace period and surge, from a model, with the arithmetic and the expected loss.",
    )
    .argument("[scenario]", "a scenario file, as for simulate");
  return addScenarioFlags(command)
    .option("-f, --file <manifest>", "take replicas, strategy and grace period from a manifest")
    .option("--recording <file>", "take convergence and rate from a file of lab --json or rollout --json")
    .option(
      "--container <name>",
      "container that gets the settings of --patch (default: the one that serves)",
    )
    .option("--json <file>", "write the advice as JSON; - is stdout")
    .option("--patch <file>", "write a strategic merge patch, for kubectl patch; - is stdout")
    .addHelpText("after", examples)
    .action(async (scenario: string | undefined, { file, ...options }: Options) => {
      checkFiles({ json: options.json, patch: options.patch });
      const output = await adviseCommand({ ...options, scenario, manifest: file });
      if (options.json !== "-" && options.patch !== "-") process.stdout.write(output.text);
      writeOutput("--json", options.json, () => `${JSON.stringify(output.json)}\n`);
      writeOutput("--patch", options.patch, () => output.patch);
    });
}

const examples = ending(
  `
Examples:
  $ lameduck advise -f deployment.yaml --senders alb:2 --rate 500
  $ lameduck advise --recording lab.json
  $ lameduck advise -f deployment.yaml --recording lab.json --patch patch.yaml
  $ kubectl patch deployment web --patch-file patch.yaml`,
  "0 done, 2 usage, 3 internal",
  "docs/simulate.md#advice",
);
