import { Command } from "commander";
import { namedScenarios, simulateCommand, type ScenarioFlags } from "@lameduck/simulator";
import { withAddresses } from "../about.ts";
import { checkOutputs, outputFiles, publish } from "../output.ts";
import { Progress } from "../progress.ts";
import { ending } from "../help/ending.ts";
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
      "Simulate terminations in a model: what every policy loses, and how long it holds. Needs no cluster and sends nothing.",
    )
    .argument(
      "[scenario]",
      `a scenario file in YAML or JSON, or a published experiment: ${Object.keys(namedScenarios).join(", ")} (default: the options below)`,
    );
  return addScenarioFlags(command)
    .option("--json <file>", "write the result as JSON; - is stdout")
    .option("--html <file>", "write a page with charts; - is stdout")
    .addHelpText("after", examples)
    .action(async (scenario: string | undefined, options: Options) => {
      checkOutputs(outputFiles(options, "json", "html"));
      const progress = new Progress();
      const onProgress = (done: number, of: number): void =>
        progress.update("simulating", `${done} of ${of} terminations`);
      const output = await simulateCommand({ ...options, scenario, onProgress });
      progress.done();
      publish(() => withAddresses(output.text), options, {
        json: () => `${JSON.stringify(output.json)}\n`,
        html: () => output.html,
      });
    });
}

const examples = ending(
  `
Examples:
  $ lameduck simulate --senders ingress-nginx:3,idle-kube-proxy:40 --replicas 40 --rate 2000
  $ lameduck simulate shop.yaml --html shop.html
  $ lameduck simulate gke-neg

Options win over the scenario file.`,
  "0 done, 2 usage, 3 internal",
  "docs/simulate.md",
);
