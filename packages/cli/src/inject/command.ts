import { Command, Option } from "commander";
import { injectManifests, removeFromManifests } from "@lameduck/inject";
import { readStream } from "@lameduck/manifests";
import { readInput } from "../audit/input.ts";
import { diffOf, writeFixes } from "../audit/fix.ts";
import { badOption } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { report } from "../failure.ts";
import { ending } from "../help/ending.ts";
import { checkOutputs, outputFiles, writeOutput } from "../output.ts";
import { factsFrom, policyFrom, type Options } from "./options.ts";
import { injectedReport, removedReport, type Done } from "./report.ts";

const examples = ending(
  `
Each container of a pod template gets the preStop hook \`lameduck-init wait\`. The
hook holds the stop signal while traffic still comes. Its binary comes from an
optional ConfigMap: without it a pod still starts. The grace period is raised by
the hold. Containers with a hook of their own, Jobs, and pods that get no
requests are left alone. The reasons go to stderr. Injecting twice changes
nothing more. With --replace-sleep a hook that only sleeps is replaced: the hold
ends when traffic has moved away, after that sleep or later at most.

Examples:
  lameduck inject deploy.yaml                            the manifests with the drain in them, on stdout
  helm template shop ./chart | lameduck inject - | kubectl apply -f -
  lameduck inject deploy/ --diff                         what would change
  lameduck inject deploy/ --write                        change the files; comments stay
  lameduck inject deploy.yaml --policy drain.yaml        with the settings of a DrainPolicy
  lameduck inject deploy/ --json -                       what was done to each workload and why
  lameduck inject deploy/ --remove --write               take it out again

Settings are fields of a DrainPolicy, or annotations of the pod template:
  lameduck.dev/inject: "false"      leave this workload alone
  lameduck.dev/cap: 40s             longest hold
  lameduck.dev/convergence: 20s     time until the slowest sender has converged
  lameduck.dev/init-volume: none    use the kubelet's own sleep`,
  "0 done, 2 an option or a file is wrong or cannot be edited; then nothing is written, 3 internal, 5 there was no workload",
  "docs/operate/inject.md",
);

/** `lameduck inject`: what admission would do to pods, in the manifests that they come from. */
export function injectCommand(exit: (code: number) => number): Command {
  return new Command("inject")
    .description(
      "Add the hold to manifests: preStop hooks and longer grace periods. For GitOps; the webhook does the same to pods in a cluster.",
    )
    .argument("[paths...]", "files and folders of manifests; - is stdin")
    .option("--policy <file>", "file with a DrainPolicy, used as that of the cluster")
    .option(
      "--kubernetes <version>",
      "version of the cluster, such as 1.36: decides which fields may be used",
    )
    .addOption(
      new Option(
        "--arch <names...>",
        "processor of the nodes; name both if there are both (default: amd64)",
      ).choices(["amd64", "arm64"]),
    )
    .option(
      "--replace-sleep",
      "put a hold in place of preStop hooks that only sleep, as existingSleep: replace of a DrainPolicy does",
    )
    .optionsGroup("What is written (default: the manifests, on stdout):")
    .option("--diff", "print the changes as a diff")
    .option("--write", "write the changes into the files")
    .option("--remove", "take out what was injected; manifests get back what they had")
    .addHelpText("after", examples)
    .action(async (paths: string[], options: Options) => void exit(await run(paths, options)));
}

async function run(paths: readonly string[], options: Options): Promise<number> {
  mustFit(paths, options);
  const policy = policyFrom(options.policy);
  const { files, failures } = await readInput(paths, "inject");
  const done = options.remove
    ? removedReport(removeFromManifests(files))
    : injectedReport(
        injectManifests(files, {
          facts: factsFrom(options),
          clusterPolicy: policy,
          ...(options.replaceSleep ? { asked: { existingSleep: "replace" } } : {}),
        }),
      );
  const wrong = [...failures, ...done.failures];
  for (const failure of wrong) report(failure);
  if (wrong.length > 0) return exitCodes.usage;
  await publish(done, options);
  return done.inventory.workloads.length === 0 ? exitCodes.untested : exitCodes.clean;
}

async function publish(done: Done, { diff, write, json }: Options): Promise<void> {
  const files = done.files.filter(({ before, after }) => before.text !== after.text);
  // First, so that nothing is called injected that could not be written.
  if (write) writeFixes({ files });
  writeOutput("--json", json, () => done.json());
  if (json !== "-") process.stderr.write(done.text(process.stderr));
  if (diff) process.stdout.write(await diffOf({ files }));
  if (!diff && !write && json === undefined)
    process.stdout.write(joined(done.files.filter(isForTheCluster).map(({ after }) => after.text)));
}

/** What a folder holds besides objects, such as package.json, would end `kubectl apply -f -`. */
function isForTheCluster({ before: { text, name, isFound } }: Done["files"][number]): boolean {
  if (!isFound) return true;
  const { objects, failures } = readStream(text, name, () => true, isFound);
  return objects.length > 0 || failures.length > 0;
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

function mustFit(
  paths: readonly string[],
  { diff, write, json, remove, policy, replaceSleep }: Options,
): void {
  if (remove && replaceSleep)
    throw badOption(
      "--replace-sleep",
      "says how to inject; with --remove the sleeps come back by themselves",
    );
  if (remove && policy !== undefined)
    throw badOption("--policy", "says how to inject; leave it out with --remove");
  if (paths.length === 0)
    throw badOption("lameduck inject", "name files or folders of manifests, or - for stdin");
  if (write && paths.includes("-"))
    throw badOption("--write", "writes files; what comes from stdin goes to stdout without it");
  if (json === "-" && diff)
    throw badOption("--json", "only one output goes to stdout; name a file, or leave --diff out");
  // Before --write has changed a file.
  checkOutputs(outputFiles({ json }, "json"));
}
