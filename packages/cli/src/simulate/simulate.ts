import { Command } from "commander";
import { namedScenarios, simulateCommand, type ScenarioFlags } from "@lameduck/simulator";
import { mustBeWritable, writeOutput } from "../output.ts";
import { Progress } from "../progress.ts";
import { addScenarioFlags } from "./flags.ts";

interface Options extends ScenarioFlags {
  readonly seed: number;
  readonly json?: string;
  readonly html?: string;
}

/** `lameduck simulate`: what the settings lose, on virtual time. */
export function simulate(): Command {
  const command = new Command("simulate")
    .description(
      "Simulate terminations on virtual time: what every policy loses and how long it holds. Needs no cluster.",
    )
    .argument(
      "[scenario]",
      `a scenario file (docs/simulate.md), or ${Object.keys(namedScenarios).join(", ")}`,
    );
  return addScenarioFlags(command)
    .option("--json <file>", "the result as data; - is stdout")
    .option("--html <file>", "a page with charts")
    .action(async (scenario: string | undefined, options: Options) => {
      mustBeWritable("--json", options.json);
      mustBeWritable("--html", options.html);
      const progress = new Progress();
      const onProgress = (done: number, of: number): void =>
        progress.update("simulating", `${done} of ${of} terminations`);
      const output = await simulateCommand({ ...options, scenario, onProgress });
      progress.done();
      if (options.json !== "-") process.stdout.write(output.text);
      writeOutput("--json", options.json, () => `${JSON.stringify(output.json)}\n`);
      writeOutput("--html", options.html, () => output.html);
    });
}
