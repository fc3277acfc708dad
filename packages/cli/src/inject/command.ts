import { Command, Option } from "commander";
import { injectManifests, type InjectedManifests } from "@lameduck/operator";
import { readInput } from "../audit/input.ts";
import { diffOf, writeFixes } from "../audit/fix.ts";
import { CliError } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { report } from "../failure.ts";
import { factsFrom, policyFrom, type Options } from "./options.ts";
import { jsonOf, textOf } from "./report.ts";

const examples = `
What happens to a pod template: each container that serves gets the preStop hook \`lameduck-init wait\`, which holds its
stop signal while traffic still comes; the binary comes from an optional ConfigMap, so that a pod starts without it; the
grace period is raised by the hold. Containers with a hook of their own, Jobs, and pods that nothing leads to are left
alone. The reasons go to stderr. Doing it twice changes nothing.

Examples:
  lameduck inject -f deploy.yaml                         the manifests with the drain in them, on stdout
  helm template shop ./chart | lameduck inject -f - | kubectl apply -f -
  lameduck inject deploy/ --diff                         what would change
  lameduck inject deploy/ --write                        change the files; comments stay
  lameduck inject -f deploy.yaml --policy drain.yaml     with the settings of a DrainPolicy
  lameduck inject deploy/ --json                         what was done to each workload and why

Settings stand in a DrainPolicy, or as annotations of the pod template:
  lameduck.dev/inject: "false"      leave it alone              lameduck.dev/cap: 40s            longest hold
  lameduck.dev/carrier: none        the kubelet's own sleep     lameduck.dev/convergence: 20s    slowest sender

Exit codes: 0 done, 2 something could not be read, is wrong, or cannot be edited: nothing is written then.
All settings, and what holds for admission in a cluster: docs/inject.md`;

/** `lameduck inject`: what admission would do to pods, in the manifests that they come from. */
export function injectCommand(exit: (code: number) => number): Command {
  return new Command("inject")
    .description(
      "Put the drain into manifests: hooks, grace periods and their reasons. What a labelled namespace gets at admission, for GitOps.",
    )
    .argument("[paths...]", "files and folders of manifests; - is stdin")
    .option("-f, --filename <file>", "the same as a path; may be repeated", collect, [])
    .option("--policy <file>", "a DrainPolicy file, used as the cluster's own")
    .option(
      "--kubernetes <version>",
      "version of the cluster, such as 1.36; decides which fields pods may use",
    )
    .addOption(
      new Option("--architecture <names...>", "processor of the nodes; give both if they differ").choices([
        "amd64",
        "arm64",
      ]),
    )
    .optionsGroup("Instead of the manifests:")
    .option("--diff", "print what would change")
    .option("--write", "change the files")
    .option("--json", "print what was done to each workload, and why")
    .addHelpText("after", examples)
    .action(async (paths: string[], options: Options) => void exit(await run(paths, options)));
}

async function run(given: readonly string[], options: Options): Promise<number> {
  const paths = [...given, ...options.filename];
  mustFit(paths, options);
  const policy = policyFrom(options.policy);
  const { files, failures } = await readInput(paths);
  const injected = injectManifests(files, { facts: factsFrom(options), clusterPolicy: policy });
  const wrong = [...failures, ...injected.failures];
  for (const failure of wrong) report(failure);
  if (wrong.length > 0) return exitCodes.usage;
  await publish(injected, options);
  return exitCodes.clean;
}

async function publish(injected: InjectedManifests, { diff, write, json }: Options): Promise<void> {
  const files = injected.files.filter(({ before, after }) => before.text !== after.text);
  if (json) process.stdout.write(jsonOf(injected));
  else process.stderr.write(textOf(injected, process.stderr));
  if (diff) process.stdout.write(await diffOf({ files }));
  if (write) writeFixes({ files });
  if (!diff && !write && !json) process.stdout.write(joined(injected.files.map(({ after }) => after.text)));
}

/** Files in a row are documents in a row. */
function joined(texts: readonly string[]): string {
  return texts
    .map((text, index) => {
      const whole = text.endsWith("\n") ? text : `${text}\n`;
      return index === 0 || /^---(?:\s|$)/m.test(text.split("\n", 1)[0] ?? "") ? whole : `---\n${whole}`;
    })
    .join("");
}

function mustFit(paths: readonly string[], { diff, write, json }: Options): void {
  const fail = (place: string, problem: string): never => {
    throw new CliError("LAMEDUCK_BAD_OPTION", place, problem);
  };
  if (paths.length === 0)
    fail("lameduck inject", "name files or folders of manifests with -f, or - for stdin");
  if (write && paths.includes("-"))
    fail("--write", "writes files; what comes from stdin goes to stdout without it");
  if (json && diff) fail("--json", "prints JSON alone; leave --diff out");
}

function collect(value: string, before: readonly string[]): string[] {
  return [...before, value];
}
