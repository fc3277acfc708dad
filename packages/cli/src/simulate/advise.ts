import { Command } from "commander";
import { adviseCommand, type ScenarioFlags } from "@lameduck/simulator";
import { mustBeWritable, writeOutput } from "../output.ts";
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
      "Recommend policy, floor, cap, grace period and surge, with the arithmetic and the loss to expect.",
    )
    .argument("[scenario]", "a scenario file, as for simulate");
  return addScenarioFlags(command)
    .option("-f, --file <manifest>", "take replicas, strategy and grace period from a manifest")
    .option("--recording <file>", "take convergence and rate from the output of lab --json or rollout --json")
    .option("--container <name>", "container to which the patch adds settings")
    .option("--json <file>", "the advice as data; - is stdout")
    .option("--patch <file>", "a strategic merge patch for kubectl patch; - is stdout")
    .action(async (scenario: string | undefined, { file, ...options }: Options) => {
      mustBeWritable("--json", options.json);
      mustBeWritable("--patch", options.patch);
      const output = await adviseCommand({ ...options, scenario, manifest: file });
      if (options.json !== "-" && options.patch !== "-") process.stdout.write(output.text);
      writeOutput("--json", options.json, () => `${JSON.stringify(output.json)}\n`);
      writeOutput("--patch", options.patch, () => output.patch);
    });
}
