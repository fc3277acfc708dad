import { count } from "@lameduck/accounting/words";
import { Command } from "commander";
import { namedScenarios, simulateCommand } from "@lameduck/simulator";
import { withAddresses } from "../about.ts";
import { badOption } from "../errors.ts";
import { ending } from "../help/ending.ts";
import { collect, number, whole } from "../options.ts";
import { checkOutputs, outputFiles, publish } from "../output.ts";
import { Progress } from "../progress.ts";
import { advise, type AdviseOptions } from "./advise.ts";

interface Options extends AdviseOptions {
  readonly advise?: boolean;
  readonly html?: string;
}

/** `lameduck simulate`: what the settings lose, on virtual time, and with --advise what they should be. */
export function simulate(exit: (code: number) => number): Command {
  return new Command("simulate")
    .description(
      "Simulate terminations in a model: what every policy loses, and how long it holds. With --advise: which policy, floor, cap, grace period and surge to set. Needs no cluster and sends nothing.",
    )
    .argument(
      "[scenario]",
      `a scenario file in YAML or JSON, or a published experiment: ${Object.keys(namedScenarios).join(", ")} (default: the options below)`,
    )
    .option(
      "--senders <list>",
      'senders and how many of each: presets such as "ingress-nginx:3,idle-kube-proxy:40" (default: idle-kube-proxy:3)',
    )
    .option("--replicas <n>", "pods of the service (default: 10)", whole(1, 100_000))
    .option(
      "--rps <n>",
      "new connections per second through the whole service (default: 50 for each pod)",
      number(0, 1_000_000),
    )
    .option("--terminations <n>", "terminations to simulate (default: 200)", whole(1, 100_000))
    .option("--advise", "recommend settings, with the arithmetic and the expected loss")
    .option(
      "-f, --file <manifest>",
      "advise for each workload of manifests: files, folders, or - for stdin; may be repeated",
      collect,
    )
    .option("--recording <file>", "advise by convergence and rate, from a file of lab --json")
    .addHelpText("after", examples)
    .action(async (scenario: string | undefined, options: Options) => {
      checkOutputs(outputFiles(options, "json", "html", "patch"));
      const { file, recording, patch } = options;
      const isAdvice = options.advise || file !== undefined || recording !== undefined || patch !== undefined;
      if (isAdvice) exit(await adviseOnly(scenario, options));
      else await play(scenario, options);
    });
}

async function adviseOnly(scenario: string | undefined, { html, ...options }: Options): Promise<number> {
  if (html !== undefined) throw badOption("--out html", "advice has no page; --json has all of it");
  return advise(scenario, options);
}

async function play(scenario: string | undefined, options: Options): Promise<void> {
  const progress = new Progress();
  const onProgress = (done: number, of: number): void =>
    progress.update("simulating", `${done} of ${count(of, "termination")}`);
  const output = await simulateCommand({ ...options, scenario, onProgress });
  progress.done();
  publish(() => withAddresses(output.text), options, {
    json: () => `${JSON.stringify(output.json)}\n`,
    html: () => output.html,
  });
}

const examples = ending(
  `
Examples:
  $ lameduck simulate --senders ingress-nginx:3,idle-kube-proxy:40 --replicas 40 --rps 2000
  $ lameduck simulate shop.yaml --out shop.html
  $ lameduck simulate gke-neg
  $ lameduck simulate --advise -f deployment.yaml --senders alb:2 --rps 500
  $ lameduck simulate -f deployment.yaml --recording lab.json --out patch.yaml
  $ kubectl patch deployment web --patch-file patch.yaml

Options win over the scenario file, and the file over manifests and recordings. The
file has more: grace period, maxSurge, acknowledgements, arrivals, silent senders.`,
  "0 done, 2 usage, or something could not be read, 3 internal",
  "docs/tools/simulate.md",
);
